"""The C library as ctypes sees it: where it is, its enums, its structs, its functions.

`SIGNATURES` is the one table of the package: every public symbol of include/heatball/*.h with its
result type and argument types, also those that the package does not wrap. A test compares it with
the headers and with the symbols of the library, and the structs with what the C compiler says.
"""

import ctypes
import ctypes.util
import enum
import os
import pathlib
import sysconfig
from ctypes import (CFUNCTYPE, POINTER, c_char, c_char_p, c_double, c_float, c_int, c_size_t,
                    c_ubyte, c_uint32, c_uint64, c_void_p)

from heatball._version import __version__

ENVIRONMENT = "HEATBALL_LIBRARY"
FILE_NAMES = ("libheatball.so.0", "libheatball.so")
MAX_DIM = 1000000  # HB_MAX_DIM
MAX_THREADS = 1024  # HB_MAX_THREADS


# ---- enums -------------------------------------------------------------------------------------

class Status(enum.IntEnum):
    """What a call of the C library returns; the names are those of base.h without HB_."""

    OK = 0
    ERROR_ARGUMENT = 1
    ERROR_MEMORY = 2
    ERROR_PATH = 3
    ERROR_FILE = 4
    ERROR_FORMAT = 5
    ERROR_INTERRUPTED = 6
    ERROR_NUMERICAL = 7
    ERROR_UNAVAILABLE = 8
    ERROR_CALLBACK = 9
    ERROR_DOMAIN = 10


class Isa(enum.IntEnum):
    ISA_AUTO = 0
    ISA_SCALAR = 1
    ISA_SSE2 = 2
    ISA_AVX2 = 3
    ISA_AVX512 = 4


class Measure(enum.IntEnum):
    KAPPA = 0
    SOURCE = 1
    GRADIENT = 2


class Kernel(enum.IntEnum):
    KERNEL_HEAT = 0
    KERNEL_WATSON = 1
    KERNEL_SOURCE = 2
    KERNEL_GRADIENT = 3
    KERNEL_GREEN = 4
    KERNEL_DRIFT = 5


class Dtype(enum.IntEnum):
    F64 = 0
    F32 = 1


class Style(enum.IntEnum):
    STYLE_LINE = 0
    STYLE_DASHED = 1
    STYLE_POINTS = 2
    STYLE_HISTOGRAM = 3
    STYLE_BAND = 4
    STYLE_THIN = 5
    STYLE_ARROWS = 6
    STYLE_IMAGE = 7
    STYLE_DOTS = 8


class Process(enum.IntEnum):
    PROCESS_OU = 0
    PROCESS_VE = 1
    PROCESS_DRIFT = 2


class PlotFormat(enum.IntFlag):
    PLOT_SVG = 1
    PLOT_PNG = 2
    PLOT_PDF = 4


class DriftFact(enum.IntEnum):
    FACT_AUTONOMOUS = 1
    FACT_LINEAR = 2
    FACT_GRADIENT = 4


class InitialKind(enum.IntEnum):
    INITIAL_NONE = 0
    INITIAL_GAUSSIAN = 1
    INITIAL_MIXTURE = 2
    INITIAL_STATIONARY = 3
    INITIAL_SAMPLES = 4
    INITIAL_UNIFORM = 5
    INITIAL_CALLBACK = 6
    INITIAL_OTHER = 7


class Quantity(enum.IntEnum):
    QUANTITY_U = 0
    QUANTITY_V = 1
    QUANTITY_W = 2


class Method(enum.IntEnum):
    METHOD_AUTO = 0
    METHOD_GRID = 1
    METHOD_MEANVALUE = 2
    METHOD_PARTICLES = 3
    METHOD_WALK = 4


class Column(enum.IntEnum):
    DENSITY = 0
    DENSITY_SE = 1
    LOG_DENSITY = 2
    LOG_DENSITY_SE = 3
    SCORE = 4
    SCORE_SE = 5
    ENTROPY_DENSITY = 6
    ENTROPY_DENSITY_SE = 7


class Head(enum.IntEnum):
    HEAD_SCORE = 0
    HEAD_ENERGY = 1
    HEAD_HELMHOLTZ = 2


class Standardise(enum.IntEnum):
    STANDARDISE_AUTO = -1
    STANDARDISE_NO = 0
    STANDARDISE_COMMON = 1
    STANDARDISE_AXIS = 2


class Loss(enum.IntEnum):
    LOSS_DSM = 0
    LOSS_FP = 1
    LOSS_HB = 2
    LOSS_HB_PAPER = 3


class Solver(enum.IntEnum):
    SOLVER_SDE = 0
    SOLVER_ODE = 1
    SOLVER_HEUN = 2


class Denoise(enum.IntEnum):
    DENOISE_NONE = 0
    DENOISE_MEAN = 1
    DENOISE_FLOW = 2


class Part(enum.IntEnum):
    PART_TRAIN = 0
    PART_TEST = 1


class Resample(enum.IntEnum):
    RESAMPLE_AREA = 0
    RESAMPLE_BILINEAR = 1


class Binarize(enum.IntEnum):
    BINARIZE_NONE = 0
    BINARIZE_THRESHOLD = 1
    BINARIZE_STOCHASTIC = 2


class Speck(enum.IntEnum):
    SPECK_MEDIAN = 0
    SPECK_ISOLATED = 1


# C name -> enum here; a member's C name is HB_ and its own name. None: an enum without a name in C.
ENUMS = {
    "hb_status": Status,
    "hb_isa": Isa,
    "hb_measure": Measure,
    "hb_kernel": Kernel,
    "hb_dtype": Dtype,
    "hb_style": Style,
    "hb_drift_fact": DriftFact,
    "hb_initial_kind": InitialKind,
    "hb_quantity": Quantity,
    "hb_method": Method,
    "hb_column": Column,
    "hb_process": Process,
    "hb_head": Head,
    "hb_standardise": Standardise,
    "hb_loss": Loss,
    "hb_solver": Solver,
    "hb_denoise": Denoise,
    "hb_part": Part,
    "hb_resample": Resample,
    "hb_binarize": Binarize,
    "hb_speck": Speck,
    None: PlotFormat,
}


# ---- structs -----------------------------------------------------------------------------------

ALLOCATE = CFUNCTYPE(c_void_p, c_void_p, c_size_t)
RELEASE = CFUNCTYPE(None, c_void_p, c_void_p)
PROGRESS = CFUNCTYPE(c_int, c_void_p, c_char_p, c_double, c_double)
LOG = CFUNCTYPE(None, c_void_p, c_char_p)
READING = CFUNCTYPE(c_int, c_void_p, c_char_p)
SUP = CFUNCTYPE(c_int, c_void_p, c_double, POINTER(c_double), POINTER(c_double))
DRIFT = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
                  POINTER(c_double), POINTER(c_double))
INITIAL_DENSITY = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
                            POINTER(c_double))
FIELD = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
                  POINTER(c_double), POINTER(c_double))

SCORE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), c_double, POINTER(c_double))
DIVERGENCE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), c_double,
                       POINTER(c_double), POINTER(c_double))

# Callbacks that functions take as an argument, by their names in C.
CALLBACKS = {"hb_score_callback": SCORE, "hb_divergence_callback": DIVERGENCE}


class Context(ctypes.Structure):
    """hb_context: opaque."""


class Cubature(ctypes.Structure):
    """hb_cubature: opaque."""


class Writer(ctypes.Structure):
    """hb_writer: opaque."""


class Figure(ctypes.Structure):
    """hb_figure: opaque."""


class Expression(ctypes.Structure):
    """hb_expression: opaque."""


class Problem(ctypes.Structure):
    """hb_problem: opaque."""


class Grid(ctypes.Structure):
    """hb_grid: opaque."""


class Solution(ctypes.Structure):
    """hb_solution: opaque."""


class Mixture(ctypes.Structure):
    """hb_mixture: opaque."""


class Model(ctypes.Structure):
    """hb_model: opaque."""


class Classifier(ctypes.Structure):
    """hb_classifier: opaque."""


TRAIN_WATCH = CFUNCTYPE(c_int, c_void_p, c_uint64, c_double, POINTER(Model))


class Settings(ctypes.Structure):
    _fields_ = [
        ("threads", c_int),
        ("isa", c_int),
        ("allocate", ALLOCATE),
        ("release", RELEASE),
        ("allocator_user", c_void_p),
        ("progress", PROGRESS),
        ("progress_user", c_void_p),
        ("log", LOG),
        ("log_user", c_void_p),
        ("reading", READING),
        ("reading_user", c_void_p),
    ]


class BallConstants(ctypes.Structure):
    _fields_ = [("dim", c_int), ("lift", c_int)] + [
        (name, c_double)
        for name in ("C1", "C2", "C3", "c_g", "volume", "sigma_star", "r_max", "mean_sigma",
                     "source_mass", "gradient_mass", "cylinder_volume", "cylinder_ratio",
                     "one_plus_chi2", "C_d", "C_sharp")
    ]


class BudgetSettings(ctypes.Structure):
    _fields_ = [
        ("dim", c_int),
        ("drift_sup", c_double),
        ("div_sup", c_double),
        ("theta", c_double),
        ("sup", SUP),
        ("sup_user", c_void_p),
        ("u0_min", c_double),
        ("u0_max", c_double),
        ("u0_grad", c_double),
        ("at", c_double),
    ]


class Budget(ctypes.Structure):
    _fields_ = [
        (name, c_int if name.startswith("inside") else c_double)
        for name in ("C_d", "C_sharp", "T0", "T0_paper", "T", "K", "Lambda", "Lambda_paper",
                     "K_for_T", "K_for_T_paper", "inside", "inside_paper", "u_lower", "u_upper",
                     "v_bound", "w_bound", "radius", "radius_paper", "score_bound",
                     "score_bound_paper")
    ]


class Panel(ctypes.Structure):
    _fields_ = [
        ("title", c_char_p),
        ("x_label", c_char_p),
        ("y_label", c_char_p),
        ("log_x", c_int),
        ("log_y", c_int),
        ("x_min", c_double),
        ("x_max", c_double),
        ("y_min", c_double),
        ("y_max", c_double),
        ("key", c_char_p),
        ("equal_axes", c_int),
        ("x_names", c_char_p),
    ]


class Lattice(ctypes.Structure):
    _fields_ = [("nx", c_int), ("ny", c_int)] + [
        (name, c_double) for name in ("x0", "x1", "y0", "y1")]


class ProblemSettings(ctypes.Structure):
    _fields_ = [
        ("dim", c_int),
        ("drift", c_char_p),
        ("potential", c_char_p),
        ("drift_callback", DRIFT),
        ("drift_has_jacobian", c_int),
        ("drift_user", c_void_p),
        ("drift_facts", c_int),
        ("noise", c_char_p),
        ("initial", c_char_p),
        ("initial_callback", INITIAL_DENSITY),
        ("initial_user", c_void_p),
        ("n_parameters", c_int),
        ("parameter_names", POINTER(c_char_p)),
        ("parameter_values", POINTER(c_double)),
        ("time", c_double),
        ("directory", c_char_p),
    ]


class Field(ctypes.Structure):
    _fields_ = [
        ("dim", c_int),
        ("tau_min", c_double),
        ("tau_max", c_double),
        ("evaluate", FIELD),
        ("user", c_void_p),
    ]


class GridSettings(ctypes.Structure):
    _fields_ = [
        ("points", c_int * 3),
        ("low", c_double * 3),
        ("high", c_double * 3),
        ("tolerance", c_double),
        ("keep_from", c_double),
        ("max_time", c_double),
    ]


class GridInfo(ctypes.Structure):
    _fields_ = [
        ("dim", c_int),
        ("points", c_int * 3),
        ("low", c_double * 3),
        ("high", c_double * 3),
        ("tau", c_double),
        ("mass_error", c_double),
        ("boundary_log", c_double),
        ("steps", c_int),
        ("breaks_between", c_int),
        ("unresolved", c_int),
    ]


class MeanSettings(ctypes.Structure):
    _fields_ = [
        ("radius", c_double),
        ("lift", c_int),
        ("samples", c_uint64),
        ("degree", c_int),
        ("seed", c_uint64),
    ]


class MeanValues(ctypes.Structure):
    _fields_ = [(name, POINTER(c_double))
                for name in ("u", "u_se", "v", "v_se", "w", "w_se", "score", "score_se", "radius")]


class SamplingSettings(ctypes.Structure):
    _fields_ = [
        ("samples", c_uint64),
        ("density_error", c_double),
        ("score_error", c_double),
        ("max_time", c_double),
        ("radius", c_double),
        ("lift", c_int),
        ("seed", c_uint64),
        ("state", c_char_p),
        ("save_every", c_double),
        ("resume", c_int),
        ("n_paths", c_size_t),
        ("n_times", c_size_t),
        ("paths", POINTER(c_double)),
        ("path_times", POINTER(c_double)),
    ]


class SolveSettings(ctypes.Structure):
    _fields_ = [
        ("method", c_int),
        ("time", c_double),
        ("mean", MeanSettings),
        ("grid", GridSettings),
        ("sampling", SamplingSettings),
    ]


class GenerateSettings(ctypes.Structure):
    _fields_ = [
        ("solver", c_int),
        ("process", c_int),
        ("n_steps", c_int),
        ("n_correct", c_int),
        ("snr", c_double),
        ("det_tau", c_double),
        ("tau_min", c_double),
        ("tau_max", c_double),
        ("rho", c_double),
        ("denoise", c_int),
        ("tolerance", c_double),
        ("mean", POINTER(c_double)),
        ("covariance", POINTER(c_double)),
        ("low", c_double),
        ("high", c_double),
        ("seed", c_uint64),
    ]


class ScoreError(ctypes.Structure):
    _fields_ = [(name, c_double)
                for name in ("tau", "all", "all_se", "low", "low_se", "high", "high_se", "grid")]


class Mmd(ctypes.Structure):
    _fields_ = [(name, c_double) for name in ("mmd", "mmd2", "mmd2_se", "bandwidth")]


class MmdFloor(ctypes.Structure):
    _fields_ = [(name, c_double) for name in ("mmd", "mmd_upper", "mmd2", "mmd2_upper")]


class Memorisation(ctypes.Structure):
    _fields_ = [(name, c_double) for name in ("median", "real_median", "ratio", "near", "share")]


class ClassifierSettings(ctypes.Structure):
    _fields_ = [
        ("width", c_int),
        ("depth", c_int),
        ("epochs", c_int),
        ("batch", c_int),
        ("rate", c_double),
        ("ema", c_double),
        ("shift", c_double),
        ("seed", c_uint64),
    ]


class ClassifierInfo(ctypes.Structure):
    _fields_ = [(name, c_int) for name in ("dim", "classes", "width", "depth")] + [
        ("parameters", c_size_t)]


class ModelInfo(ctypes.Structure):
    _fields_ = [
        ("dim", c_int),
        ("classes", c_int),
        ("head", c_int),
        ("process", c_int),
        ("width", c_int),
        ("depth", c_int),
        ("residual", c_int),
        ("time_features", c_int),
        ("scale", c_double),
        ("tau_min", c_double),
        ("tau_max", c_double),
        ("parameters", c_size_t),
        ("method", c_char * 16),
        ("seed", c_uint64),
        ("steps", c_uint64),
        ("image_height", c_int),
        ("image_width", c_int),
        ("pixel_low", c_double),
        ("pixel_high", c_double),
        ("half", c_int),
    ]


class ModelView(ctypes.Structure):
    _fields_ = [("context", POINTER(Context)), ("model", POINTER(Model)), ("label", c_int)]


class TrainSettings(ctypes.Structure):
    _fields_ = [
        ("loss", c_int),
        ("head", c_int),
        ("process", c_int),
        ("drift", POINTER(Problem)),
        ("width", c_int),
        ("depth", c_int),
        ("residual", c_int),
        ("time_features", c_int),
        ("epochs", c_int),
        ("batch", c_int),
        ("steps", c_uint64),
        ("max_time", c_double),
        ("rate", c_double),
        ("ema", c_double),
        ("clip", c_double),
        ("tau_min", c_double),
        ("tau_max", c_double),
        ("tau_focus", c_double),
        ("weight", c_double),
        ("warmup", c_double),
        ("ramp", c_double),
        ("ball_share", c_double),
        ("sigma_max", c_double),
        ("anchors", c_int),
        ("anchor_spread", c_double),
        ("nodes", c_int),
        ("target_rows", c_int),
        ("standardise", c_int),
        ("label_dropout", c_double),
        ("seed", c_uint64),
        ("image_height", c_int),
        ("image_width", c_int),
        ("pixel_low", c_double),
        ("pixel_high", c_double),
        ("columns", c_char_p),
        ("half", c_int),
        ("checkpoint", c_char_p),
        ("checkpoint_every", c_int),
        ("resume", c_int),
        ("log", c_char_p),
        ("watch", TRAIN_WATCH),
        ("watch_user", c_void_p),
        ("watch_every", c_uint64),
    ]


class ImagesSettings(ctypes.Structure):
    _fields_ = [
        ("limit", c_size_t),
        ("resize", c_int),
        ("resample", c_int),
        ("binarize", c_int),
        ("seed", c_uint64),
        ("low", c_double),
        ("high", c_double),
    ]


class Images(ctypes.Structure):
    _fields_ = [
        ("count", c_size_t),
        ("height", c_int),
        ("width", c_int),
        ("classes", c_int),
        ("low", c_double),
        ("high", c_double),
        ("pixels", POINTER(c_double)),
        ("labels", POINTER(c_int)),
    ]


STRUCTS = {
    "hb_images_settings": ImagesSettings,
    "hb_images": Images,
    "hb_settings": Settings,
    "hb_ball_constants": BallConstants,
    "hb_budget_settings": BudgetSettings,
    "hb_budget": Budget,
    "hb_panel": Panel,
    "hb_lattice": Lattice,
    "hb_problem_settings": ProblemSettings,
    "hb_field": Field,
    "hb_grid_settings": GridSettings,
    "hb_grid_info": GridInfo,
    "hb_mean_settings": MeanSettings,
    "hb_mean_values": MeanValues,
    "hb_sampling_settings": SamplingSettings,
    "hb_solve_settings": SolveSettings,
    "hb_score_error": ScoreError,
    "hb_mmd": Mmd,
    "hb_mmd_floor": MmdFloor,
    "hb_memorisation": Memorisation,
    "hb_classifier_settings": ClassifierSettings,
    "hb_classifier_info": ClassifierInfo,
    "hb_generate_settings": GenerateSettings,
    "hb_model_info": ModelInfo,
    "hb_model_view": ModelView,
    "hb_train_settings": TrainSettings,
}
OPAQUE = {
    "hb_context": Context,
    "hb_cubature": Cubature,
    "hb_writer": Writer,
    "hb_figure": Figure,
    "hb_expression": Expression,
    "hb_problem": Problem,
    "hb_grid": Grid,
    "hb_solution": Solution,
    "hb_mixture": Mixture,
    "hb_model": Model,
    "hb_classifier": Classifier,
}


# ---- functions ---------------------------------------------------------------------------------

_doubles = POINTER(c_double)
_text = POINTER(c_char)
_floats = POINTER(c_float)
_words = POINTER(c_uint32)
_context = POINTER(Context)
_cubature = POINTER(Cubature)
_writer = POINTER(Writer)
_figure = POINTER(Figure)
_expression = POINTER(Expression)
_problem = POINTER(Problem)
_grid = POINTER(Grid)
_solution = POINTER(Solution)
_mixture = POINTER(Mixture)
_model = POINTER(Model)
_classifier = POINTER(Classifier)
_sizes = POINTER(c_size_t)
_ints = POINTER(c_int)
_status = c_int
_draws = (_context, c_uint64, c_uint64, c_uint64, c_size_t)
_sample = (_context, c_int, c_int, c_int, c_double, c_uint64, c_uint64, c_size_t)

SIGNATURES = {
    # base.h
    "hb_version": (c_char_p, ()),
    "hb_status_name": (c_char_p, (c_int,)),
    "hb_status_text": (c_char_p, (c_int,)),
    "hb_settings_default": (None, (POINTER(Settings),)),
    "hb_context_create": (_status, (POINTER(_context), POINTER(Settings))),
    "hb_context_destroy": (None, (_context,)),
    "hb_context_message": (c_char_p, (_context,)),
    "hb_context_fail": (_status, (_context, _status, c_char_p)),
    "hb_context_progress": (_status, (_context, c_char_p, c_double, c_double)),
    "hb_context_threads": (c_int, (_context,)),
    "hb_context_isa": (c_char_p, (_context,)),
    # random.h
    "hb_random_words": (_status, _draws + (_words,)),
    "hb_random_uniform": (_status, _draws + (_doubles,)),
    "hb_random_normal": (_status, _draws + (_doubles,)),
    "hb_random_uniform_f32": (_status, _draws + (_floats,)),
    "hb_random_normal_f32": (_status, _draws + (_floats,)),
    # ball.h
    "hb_ball_psi": (c_double, (c_int, c_double, c_double, c_double)),
    "hb_ball_radius_squared": (c_double, (c_int, c_double, c_double)),
    "hb_ball_contains": (c_int, (c_int, c_double, c_double, c_double)),
    "hb_ball_constants_get": (_status, (_context, c_int, c_int, POINTER(BallConstants))),
    "hb_ball_kernel": (_status, (_context, c_int, c_int, c_double, c_size_t, _doubles, _doubles,
                                 _doubles)),
    "hb_ball_sample": (_status, _sample + (_doubles, _doubles)),
    "hb_ball_sample_rows": (_status, _sample + (_doubles,)),
    "hb_ball_sample_rows_f32": (_status, _sample + (_floats,)),
    "hb_cubature_product": (_status, (_context, c_int, c_int, c_int, c_int, c_int, c_int,
                                      POINTER(_cubature))),
    "hb_cubature_exact": (_status, (_context, c_int, c_int, c_int, c_int, POINTER(_cubature))),
    "hb_cubature_destroy": (None, (_cubature,)),
    "hb_cubature_size": (c_size_t, (_cubature,)),
    "hb_cubature_dim": (c_int, (_cubature,)),
    "hb_cubature_nodes": (_status, (_context, _cubature, c_int, c_uint64, c_uint64, _doubles,
                                    _doubles, _doubles)),
    # budget.h
    "hb_budget_settings_default": (None, (POINTER(BudgetSettings),)),
    "hb_budget_compute": (_status, (_context, POINTER(BudgetSettings), POINTER(Budget))),
    # file.h
    "hb_writer_create": (_status, (_context, c_char_p, POINTER(_writer))),
    "hb_writer_write": (_status, (_writer, c_void_p, c_size_t)),
    "hb_writer_printf": (_status, (_writer, c_char_p)),  # and what the format asks for
    "hb_writer_reserve": (_status, (_writer, c_uint64)),
    "hb_writer_commit": (_status, (_writer,)),
    "hb_writer_abort": (None, (_writer,)),
    "hb_npy_begin": (_status, (_writer, c_int, c_int, POINTER(c_uint64))),
    "hb_csv_begin": (_status, (_writer, c_int, c_uint64, c_int)),
    "hb_csv_header": (_status, (_writer, c_int, POINTER(c_char_p))),
    "hb_csv_rows": (_status, (_writer, c_int, c_size_t, c_int, c_void_p)),
    "hb_table_read": (_status, (_context, c_char_p, POINTER(c_int), POINTER(c_uint64),
                                POINTER(_doubles))),
    "hb_table_read_named": (_status, (_context, c_char_p, POINTER(c_int), POINTER(c_uint64),
                                      POINTER(_doubles), POINTER(_text))),
    "hb_table_names_release": (None, (_context, _text)),
    "hb_table_release": (None, (_context, _doubles)),
    "hb_png_write_grey": (_status, (_context, c_char_p, c_int, c_int, POINTER(c_ubyte))),
    # images.h
    "hb_images_settings_default": (None, (POINTER(ImagesSettings),)),
    "hb_images_load": (_status, (_context, c_char_p, c_int, POINTER(ImagesSettings),
                                 POINTER(Images))),
    "hb_images_destroy": (None, (_context, POINTER(Images))),
    "hb_images_dequantise": (_status, (_context, c_uint64, c_uint64, c_size_t, _doubles)),
    "hb_images_names": (POINTER(c_char_p), ()),
    "hb_images_describe": (c_char_p, (c_char_p,)),
    "hb_images_directory": (_status, (_context, c_char_p, c_size_t, POINTER(c_char), _ints)),
    "hb_images_grid_write": (_status, (_context, c_char_p, c_int, c_int, c_int, c_int, _doubles)),
    # plot.h
    "hb_panel_default": (None, (POINTER(Panel),)),
    "hb_figure_create": (_status, (_context, c_int, c_int, c_int, c_int, POINTER(_figure))),
    "hb_figure_destroy": (None, (_figure,)),
    "hb_figure_panel": (_status, (_figure, POINTER(Panel))),
    "hb_figure_series": (_status, (_figure, c_char_p, c_int, c_int, c_size_t, _doubles, _doubles,
                                   _doubles, _doubles)),
    "hb_figure_image": (_status, (_figure, c_char_p, POINTER(Lattice), _doubles)),
    "hb_figure_contours": (_status, (_figure, c_char_p, c_int, POINTER(Lattice), _doubles, c_int,
                                     _doubles)),
    "hb_figure_streamlines": (_status, (_figure, c_char_p, c_int, POINTER(Lattice), _doubles,
                                        _doubles)),
    "hb_figure_plain": (None, (c_char_p, c_size_t, _text)),
    "hb_figure_write": (_status, (_figure, c_char_p, c_int)),
    # problem.h
    "hb_expression_parse": (_status, (_context, c_char_p, c_int, c_int, POINTER(c_char_p), _doubles,
                                      POINTER(_expression))),
    "hb_expression_destroy": (None, (_expression,)),
    "hb_expression_derivative": (_status, (_context, _expression, c_int, POINTER(_expression))),
    "hb_expression_evaluate": (_status, (_context, _expression, c_size_t, _doubles, c_double,
                                         _doubles)),
    "hb_problem_settings_default": (None, (POINTER(ProblemSettings),)),
    "hb_problem_create": (_status, (_context, POINTER(ProblemSettings), POINTER(_problem))),
    "hb_problem_parse": (_status, (_context, c_char_p, c_char_p, c_char_p, POINTER(_problem))),
    "hb_problem_load": (_status, (_context, c_char_p, POINTER(ProblemSettings), POINTER(_problem))),
    "hb_problem_destroy": (None, (_problem,)),
    "hb_problem_dim": (c_int, (_problem,)),
    "hb_problem_time": (c_double, (_problem,)),
    "hb_problem_initial_kind": (c_int, (_problem,)),
    "hb_problem_is_gradient": (c_int, (_problem,)),
    "hb_problem_is_autonomous": (c_int, (_problem,)),
    "hb_problem_is_linear": (c_int, (_problem,)),
    "hb_problem_tau_of_t": (_status, (_context, _problem, c_double, _doubles)),
    "hb_problem_t_of_tau": (_status, (_context, _problem, c_double, _doubles)),
    "hb_problem_drift": (_status, (_context, _problem, c_double, c_size_t, _doubles, _doubles,
                                   _doubles, _doubles, _doubles)),
    "hb_problem_drift_each": (_status, (_context, _problem, c_size_t, _doubles, _doubles, _doubles,
                                        _doubles, _doubles, _doubles)),
    "hb_problem_initial": (_status, (_context, _problem, c_size_t, _doubles, _doubles, _doubles)),
    "hb_problem_initial_box": (_status, (_context, _problem, _doubles, _doubles)),
    "hb_problem_initial_sample": (_status, (_context, _problem, c_uint64, c_uint64, c_size_t,
                                            _doubles)),
    # data.h
    "hb_mixture_create": (_status, (_context, c_int, c_size_t, _doubles, _doubles, _doubles,
                                    POINTER(_mixture))),
    "hb_mixture_named": (_status, (_context, c_char_p, POINTER(_mixture))),
    "hb_mixture_destroy": (None, (_mixture,)),
    "hb_mixture_dim": (c_int, (_mixture,)),
    "hb_mixture_count": (c_size_t, (_mixture,)),
    "hb_mixture_component": (_status, (_context, _mixture, c_size_t, _doubles, _doubles, _doubles)),
    "hb_mixture_moments": (None, (_mixture, _doubles, _doubles)),
    "hb_mixture_sample": (_status, (_context, _mixture, c_uint64, c_uint64, c_size_t, _doubles,
                                    _ints)),
    "hb_mixture_sample_at": (_status, (_context, _mixture, c_int, c_double, c_uint64, c_uint64,
                                       c_size_t, _doubles, _ints)),
    "hb_mixture_score": (_status, (_context, _mixture, c_int, c_double, c_size_t, _doubles,
                                   _doubles, _doubles)),
    "hb_mixture_modes": (c_int, (_mixture, _ints)),
    "hb_data_names": (POINTER(c_char_p), ()),
    "hb_loss_names": (POINTER(c_char_p), ()),
    "hb_data_describe": (c_char_p, (c_char_p,)),
    "hb_data_read": (_status, (_context, c_char_p, _sizes, _ints, POINTER(_doubles))),
    "hb_data_read_named": (_status, (_context, c_char_p, _sizes, _ints, POINTER(_doubles),
                                     POINTER(_text))),
    "hb_data_release": (None, (_context, _doubles)),
    "hb_data_split": (_status, (_context, c_size_t, c_uint64, _sizes)),
    # judge.h
    "hb_judge_score": (_status, (_context, _mixture, c_int, c_double, c_uint64, c_size_t, SCORE,
                                 c_void_p, POINTER(ScoreError))),
    "hb_judge_mmd": (_status, (_context, c_int, c_size_t, _doubles, c_size_t, _doubles, c_int,
                               POINTER(Mmd))),
    "hb_judge_kolmogorov": (_status, (_context, c_int, c_size_t, _doubles, c_size_t, _doubles,
                                      _doubles, _doubles)),
    "hb_judge_mmd_floor": (_status, (_context, c_int, c_size_t, _doubles, c_size_t, _doubles,
                                     c_size_t, c_size_t, c_int, c_uint64, c_int,
                                     POINTER(MmdFloor))),
    "hb_judge_nearest": (_status, (_context, c_int, c_size_t, _doubles, c_size_t, _doubles, _sizes,
                                   _doubles)),
    "hb_judge_precision_recall": (_status, (_context, c_int, c_size_t, _doubles, c_size_t, _doubles,
                                            c_int, _doubles, _doubles)),
    "hb_judge_memorisation": (_status, (_context, c_int, c_size_t, _doubles, c_size_t, _doubles,
                                        c_size_t, _doubles, POINTER(Memorisation))),
    "hb_judge_artifacts": (_status, (_context, c_int, c_int, c_size_t, _doubles, c_int, c_double,
                                     c_int, _sizes, _sizes)),
    "hb_judge_artifacts_threshold": (_status, (_context, c_int, c_int, c_size_t, _doubles, c_int,
                                               c_int, c_double, _doubles)),
    "hb_judge_modes": (_status, (_context, _mixture, c_size_t, _doubles, _sizes, _sizes, _ints)),
    "hb_judge_curl": (_status, (_context, c_int, c_size_t, _doubles, c_double, c_uint64, c_int,
                                SCORE, c_void_p, _doubles, _doubles)),
    "hb_judge_helmholtz": (_status, (_context, c_int, c_int, c_double, c_double, _doubles, _doubles,
                                     _doubles, _doubles, _doubles)),
    # classify.h
    "hb_classifier_settings_default": (None, (POINTER(ClassifierSettings),)),
    "hb_classifier_train": (_status, (_context, POINTER(ClassifierSettings), c_int, c_size_t,
                                      _doubles, c_int, _ints, POINTER(_classifier))),
    "hb_classifier_predict": (_status, (_context, _classifier, c_size_t, _doubles, _doubles)),
    "hb_classifier_save": (_status, (_context, _classifier, c_char_p)),
    "hb_classifier_load": (_status, (_context, c_char_p, POINTER(_classifier))),
    "hb_classifier_info_get": (None, (_classifier, POINTER(ClassifierInfo))),
    "hb_classifier_destroy": (None, (_classifier,)),
    # generate.h
    "hb_generate_settings_default": (None, (POINTER(GenerateSettings),)),
    "hb_generate": (_status, (_context, POINTER(GenerateSettings), c_int, SCORE, c_void_p, c_uint64,
                              c_size_t, _doubles)),
    "hb_likelihood": (_status, (_context, POINTER(GenerateSettings), c_int, DIVERGENCE, c_void_p,
                                c_size_t, _doubles, _doubles)),
    "hb_model_generate": (_status, (_context, _model, POINTER(GenerateSettings), _ints, c_uint64,
                                    c_size_t, _doubles)),
    "hb_model_likelihood": (_status, (_context, _model, POINTER(GenerateSettings), c_int, _ints,
                                      c_size_t, _doubles, _doubles)),
    # grid.h
    "hb_grid_settings_default": (None, (POINTER(GridSettings),)),
    "hb_grid_solve": (_status, (_context, _problem, c_double, POINTER(GridSettings), c_size_t,
                                _doubles, POINTER(_grid))),
    "hb_grid_destroy": (None, (_grid,)),
    "hb_grid_info_get": (None, (_grid, POINTER(GridInfo))),
    "hb_grid_evaluate": (_status, (_context, _grid, c_double, c_size_t, _doubles, _doubles,
                                   _doubles, _doubles, _doubles)),
    "hb_grid_field": (None, (_grid, POINTER(Field))),
    # estimate.h
    "hb_mean_settings_default": (None, (POINTER(MeanSettings),)),
    "hb_mean_value": (_status, (_context, _problem, POINTER(Field), POINTER(MeanSettings), c_double,
                                c_size_t, _doubles, POINTER(MeanValues))),
    "hb_monotonicity": (_status, (_context, _problem, POINTER(Field), POINTER(MeanSettings),
                                  c_double, _doubles, c_int, _doubles, _doubles, _doubles)),
    "hb_residual": (_status, (_context, _problem, POINTER(Field), c_int, POINTER(MeanSettings),
                              c_double, c_size_t, _doubles, c_int, _doubles, _doubles, _doubles,
                              _doubles, _doubles)),
    # solve.h
    "hb_solve_settings_default": (None, (POINTER(SolveSettings),)),
    "hb_solve": (_status, (_context, _problem, POINTER(SolveSettings), c_size_t, _doubles,
                           POINTER(_solution))),
    "hb_solution_destroy": (None, (_solution,)),
    "hb_solution_size": (c_size_t, (_solution,)),
    "hb_solution_dim": (c_int, (_solution,)),
    "hb_solution_tau": (c_double, (_solution,)),
    "hb_solution_method": (c_char_p, (_solution,)),
    "hb_solution_note": (c_char_p, (_solution,)),
    "hb_solution_point_method": (c_char_p, (_solution, c_size_t)),
    "hb_solution_warning": (c_char_p, (_solution, c_size_t)),
    "hb_solution_samples": (c_uint64, (_solution, c_size_t)),
    "hb_solution_grid": (_grid, (_solution,)),
    "hb_solution_values": (_doubles, (_solution, c_int)),
    "hb_solve_residual": (_status, (_context, _problem, POINTER(SolveSettings), c_int, c_size_t,
                                    _doubles, c_int, _doubles, _doubles, _doubles, _doubles,
                                    _doubles)),
    # model.h
    "hb_model_load": (_status, (_context, c_char_p, POINTER(_model))),
    "hb_model_save": (_status, (_context, _model, c_char_p)),
    "hb_model_destroy": (None, (_model,)),
    "hb_model_info_get": (None, (_model, POINTER(ModelInfo))),
    "hb_model_score": (_status, (_context, _model, c_size_t, _doubles, _doubles, _ints, _doubles)),
    "hb_model_log_density": (_status, (_context, _model, c_size_t, _doubles, _doubles, _ints,
                                       _doubles, _doubles)),
    "hb_model_divergence": (_status, (_context, _model, c_size_t, _doubles, _doubles, _ints, c_int,
                                      c_uint64, _doubles, _doubles)),
    "hb_model_field": (_status, (_context, _model, POINTER(Field))),
    "hb_model_standardise": (None, (_model, c_size_t, _doubles, _doubles)),
    "hb_model_scales": (None, (_model, _doubles, _doubles)),
    "hb_model_column_name": (c_char_p, (_model, c_int)),
    "hb_model_view_score": (c_int, (c_void_p, c_size_t, _doubles, c_double, _doubles)),
    # train.h
    "hb_train_settings_default": (None, (POINTER(TrainSettings),)),
    "hb_train": (_status, (_context, POINTER(TrainSettings), c_int, c_size_t, _doubles, c_int,
                           _ints, POINTER(_model))),
}


# ---- finding and loading -----------------------------------------------------------------------

def candidates():
    """Yield (place, path) in the order of the search; a path without a slash is for the loader."""
    wanted = os.environ.get(ENVIRONMENT)
    if wanted:  # the user's word is final: no fall back to another library
        yield f"the environment variable {ENVIRONMENT}", wanted
        return
    package = pathlib.Path(__file__).resolve().parent
    for name in FILE_NAMES:
        yield "beside the package", str(package / name)
    checkout = package.parent.parent
    if (checkout / "include" / "heatball" / "base.h").is_file():
        yield "the build directory of this checkout", str(checkout / "build" / "libheatball.so")
    # An installed package is PREFIX/lib/python3/dist-packages/heatball, its library in PREFIX/lib
    # or, on Debian, in PREFIX/lib/TRIPLET.
    triplet = sysconfig.get_config_var("MULTIARCH") or ""
    for parent in list(package.parents)[:3]:
        for directory in dict.fromkeys((parent, parent / triplet)):
            for name in FILE_NAMES:
                yield "above the package", str(directory / name)
    found = ctypes.util.find_library("heatball")
    for name in ([found] if found else []) + list(FILE_NAMES):
        yield "the system's loader", name


def load():
    """Load the library and give every function of the table its types.

    Raises
    ------
    ImportError
        When no library is found, when it cannot be loaded, when its version is another one, or
        when a function is missing; the message lists what was tried.
    """
    tried = []
    for place, path in candidates():
        if os.sep in path and not os.path.exists(path):
            tried.append(f"  {path} ({place}): no such file")
            continue
        try:
            return bind(ctypes.CDLL(path), path)
        except OSError as error:
            tried.append(f"  {path} ({place}): {error}")
    raise ImportError(
        "the C library libheatball was not found; build it with make, install it, or set "
        f"{ENVIRONMENT} to its path. Tried:\n" + "\n".join(tried))


def bind(library, path):
    """Set the types of all functions of the table; the library's version must be the package's."""
    for name, (restype, argtypes) in SIGNATURES.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(f"{path} has no function {name}; it is not version {__version__} "
                              "of libheatball") from None
        function.restype = restype
        function.argtypes = argtypes
    version = library.hb_version().decode()
    if version != __version__:
        raise ImportError(f"{path} is version {version} of libheatball, but this package is "
                          f"version {__version__}; install the two together")
    return library


library = load()
