# What `cmake --install` puts under the prefix: library (shared and static), headers, command, man
# pages, bash completion, pkg-config file, CMake package, Python package, the kept model, licence and
# documents.
# All paths in the installed files are relative to the files themselves, so that the tree can move.
include(CMakePackageConfigHelpers)

# lib, not CMAKE_INSTALL_LIBDIR: Debian's Python looks in /usr/lib/python3, not /usr/lib/TRIPLET.
set(HEATBALL_PYTHON_DIR lib/python3/dist-packages CACHE STRING
    "Where the Python package goes: absolute, or relative to the prefix")

# ---- libraries, headers, command ---------------------------------------------------------------
set_target_properties(heatball_static PROPERTIES EXPORT_NAME static)
install(TARGETS heatball_shared EXPORT heatballTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS heatball_static EXPORT heatballStaticTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/heatball DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
if(TARGET heatball_mpi)
  install(TARGETS heatball_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(TARGETS heatball_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# ---- CMake package -----------------------------------------------------------------------------
# Two export files: the static library names its own dependencies, which users of the shared one
# need not have.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/heatball)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/heatballConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/heatballConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/heatballConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/heatballConfig.cmake
              ${PROJECT_BINARY_DIR}/heatballConfigVersion.cmake DESTINATION ${package_dir})
install(EXPORT heatballTargets NAMESPACE heatball:: DESTINATION ${package_dir})
install(EXPORT heatballStaticTargets NAMESPACE heatball:: DESTINATION ${package_dir})

# ---- pkg-config --------------------------------------------------------------------------------
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
     ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig "${prefix_from_pkgconfig}")
foreach(dir LIBDIR INCLUDEDIR)
  set(pkgconfig_${dir} ${CMAKE_INSTALL_${dir}})
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_${dir}}")
    set(pkgconfig_${dir} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
set(pkgconfig_openmp ${OpenMP_C_LIB_NAMES})
list(TRANSFORM pkgconfig_openmp PREPEND "-l")
list(JOIN pkgconfig_openmp " " pkgconfig_openmp)
configure_file(${CMAKE_CURRENT_LIST_DIR}/heatball.pc.in ${PROJECT_BINARY_DIR}/heatball.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/heatball.pc DESTINATION ${pkgconfig_dir})

# ---- documents, completion, Python -------------------------------------------------------------
file(GLOB man_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.1)
file(GLOB root_pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES completions/heatball.bash RENAME heatball OPTIONAL
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
# The pages keep their places relative to each other, so that their links work.
install(FILES LICENSE ${root_pages} OPTIONAL DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING
        PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png" PATTERN man EXCLUDE)
# Where `heatball study mnist --quick` looks beside the command; users name it to `heatball generate`.
install(FILES models/mnist16.safetensors models/README.md OPTIONAL
        DESTINATION ${CMAKE_INSTALL_DATADIR}/heatball/models)
install(DIRECTORY python/heatball DESTINATION ${HEATBALL_PYTHON_DIR} FILES_MATCHING PATTERN "*.py" PATTERN py.typed
        PATTERN __pycache__ EXCLUDE)
