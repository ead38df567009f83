"""Constants, enums, structs, callbacks and functions of include/heatball/*.h, as ctypes takes them.

Made by tools/native_bindings.py: do not edit. Tests compare all of it with what the C compiler says.
"""

import enum
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int,
                    c_size_t, c_ubyte, c_uint, c_uint32, c_uint64, c_void_p)

MAX_THREADS = 1024
MAX_DIM = 1000000
PNG_SIDE = 20000
MOST_TIMES = 1000


class Status(enum.IntEnum):
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
    MEASURE_KAPPA = 0
    MEASURE_SOURCE = 1
    MEASURE_GRADIENT = 2


class Kernel(enum.IntEnum):
    KERNEL_HEAT = 0
    KERNEL_WATSON = 1
    KERNEL_SOURCE = 2
    KERNEL_GRADIENT = 3
    KERNEL_GREEN = 4
    KERNEL_DRIFT = 5


class BallsKind(enum.IntEnum):
    BALLS_KIND_LOG_DENSITY = 0
    BALLS_KIND_SCORE = 1


class Verdict(enum.IntEnum):
    VERDICT_HOLDS = 0
    VERDICT_FAILS = 1
    VERDICT_SKIPPED = 2


class Process(enum.IntEnum):
    PROCESS_OU = 0
    PROCESS_VE = 1
    PROCESS_DRIFT = 2


class Quantity(enum.IntEnum):
    QUANTITY_U = 0
    QUANTITY_V = 1
    QUANTITY_W = 2


class Dtype(enum.IntEnum):
    DTYPE_F64 = 0
    DTYPE_F32 = 1


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


class Standardise(enum.IntEnum):
    STANDARDISE_BY_KIND = -1
    STANDARDISE_NO = 0
    STANDARDISE_COMMON = 1
    STANDARDISE_AXIS = 2
    STANDARDISE_MAPS = 3
    STANDARDISE_AUTO = 4


class Head(enum.IntEnum):
    HEAD_SCORE = 0
    HEAD_ENERGY = 1
    HEAD_HELMHOLTZ = 2


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


class Format(enum.IntFlag):
    FORMAT_SVG = 1
    FORMAT_PNG = 2
    FORMAT_PDF = 4


class Convention(enum.IntEnum):
    CONVENTION_UNSET = 0
    CONVENTION_ITO = 1
    CONVENTION_STRATONOVICH = 2


class DriftFact(enum.IntFlag):
    DRIFT_FACT_AUTONOMOUS = 1
    DRIFT_FACT_LINEAR = 2
    DRIFT_FACT_GRADIENT = 4
    DRIFT_FACT_REENTRANT = 8


class InitialKind(enum.IntEnum):
    INITIAL_KIND_NONE = 0
    INITIAL_KIND_GAUSSIAN = 1
    INITIAL_KIND_MIXTURE = 2
    INITIAL_KIND_STATIONARY = 3
    INITIAL_KIND_SAMPLES = 4
    INITIAL_KIND_UNIFORM = 5
    INITIAL_KIND_CALLBACK = 6
    INITIAL_KIND_OTHER = 7
    INITIAL_KIND_DENSITY = 8
    INITIAL_KIND_POINT = 9


class SettingKind(enum.IntEnum):
    SETTING_KIND_FLAG = 0
    SETTING_KIND_INTEGER = 1
    SETTING_KIND_UNSIGNED = 2
    SETTING_KIND_REAL = 3
    SETTING_KIND_CHOICE = 4
    SETTING_KIND_POINTER = 5


class SettingRule(enum.IntFlag):
    SETTING_RULE_ABOVE = 1
    SETTING_RULE_BELOW = 2
    SETTING_RULE_RESULT = 4


class Method(enum.IntEnum):
    METHOD_AUTO = 0
    METHOD_GRID = 1
    METHOD_MEANVALUE = 2
    METHOD_PARTICLES = 3
    METHOD_WALK = 4
    METHOD_GUIDED = 5


class SolveSetting(enum.IntFlag):
    SOLVE_SETTING_POINTS = 1
    SOLVE_SETTING_BOX = 2
    SOLVE_SETTING_DEGREE = 4
    SOLVE_SETTING_SAMPLES = 8
    SOLVE_SETTING_LIFT = 16
    SOLVE_SETTING_RADIUS = 32
    SOLVE_SETTING_STDERR = 64
    SOLVE_SETTING_STDERR_SCORE = 128
    SOLVE_SETTING_MAX_TIME = 256
    SOLVE_SETTING_STATE = 512
    SOLVE_SETTING_PATHS = 1024


class Column(enum.IntEnum):
    COLUMN_DENSITY = 0
    COLUMN_DENSITY_ERROR = 1
    COLUMN_LOG_DENSITY = 2
    COLUMN_LOG_DENSITY_ERROR = 3
    COLUMN_SCORE = 4
    COLUMN_SCORE_ERROR = 5
    COLUMN_ENTROPY_DENSITY = 6
    COLUMN_ENTROPY_DENSITY_ERROR = 7


class Loss(enum.IntEnum):
    LOSS_DSM = 0
    LOSS_FP = 1
    LOSS_HB = 2
    LOSS_HB_PAPER = 3


class ContextSettings(Structure):
    """hb_context_settings."""


class Context(Structure):
    """hb_context: opaque."""


class BallConstants(Structure):
    """hb_ball_constants."""


class Cubature(Structure):
    """hb_cubature: opaque."""


class BallsSettings(Structure):
    """hb_balls_settings."""


class Balls(Structure):
    """hb_balls: opaque."""


class BallsValues(Structure):
    """hb_balls_values."""


class BudgetSettings(Structure):
    """hb_budget_settings."""


class Budget(Structure):
    """hb_budget."""


class CertifySettings(Structure):
    """hb_certify_settings."""


class CertificateLine(Structure):
    """hb_certificate_line."""


class Certificate(Structure):
    """hb_certificate: opaque."""


class Classifier(Structure):
    """hb_classifier: opaque."""


class ClassifierSettings(Structure):
    """hb_classifier_settings."""


class ClassifierInfo(Structure):
    """hb_classifier_info."""


class Mixture(Structure):
    """hb_mixture: opaque."""


class MeanSettings(Structure):
    """hb_mean_settings."""


class MeanValues(Structure):
    """hb_mean_values."""


class ResidualValues(Structure):
    """hb_residual_values."""


class Field(Structure):
    """hb_field."""


class Writer(Structure):
    """hb_writer: opaque."""


class Npz(Structure):
    """hb_npz: opaque."""


class Expression(Structure):
    """hb_expression: opaque."""


class GenerateSettings(Structure):
    """hb_generate_settings."""


class DensityCheck(Structure):
    """hb_density_check."""


class Grid(Structure):
    """hb_grid: opaque."""


class GridSettings(Structure):
    """hb_grid_settings."""


class GridInfo(Structure):
    """hb_grid_info."""


class ImagesSettings(Structure):
    """hb_images_settings."""


class Images(Structure):
    """hb_images."""


class ScoreError(Structure):
    """hb_score_error."""


class Mmd(Structure):
    """hb_mmd."""


class MmdFloor(Structure):
    """hb_mmd_floor."""


class Memorisation(Structure):
    """hb_memorisation."""


class Model(Structure):
    """hb_model: opaque."""


class ModelInfo(Structure):
    """hb_model_info."""


class ModelView(Structure):
    """hb_model_view."""


class Figure(Structure):
    """hb_figure: opaque."""


class PanelSettings(Structure):
    """hb_panel_settings."""


class Lattice(Structure):
    """hb_lattice."""


class Problem(Structure):
    """hb_problem: opaque."""


class ProblemSettings(Structure):
    """hb_problem_settings."""


class Setting(Structure):
    """hb_setting."""


class MethodDescription(Structure):
    """hb_method_description."""


class SamplingSettings(Structure):
    """hb_sampling_settings."""


class SolveSettings(Structure):
    """hb_solve_settings."""


class Solution(Structure):
    """hb_solution: opaque."""


class Team(Structure):
    """hb_team."""


class TrainSettings(Structure):
    """hb_train_settings."""


CERTIFY = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
    POINTER(c_double))
FIELD = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
    POINTER(c_double), POINTER(c_double))
LOG_DENSITY = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double))
DIVERGENCE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), c_double, POINTER(c_double),
    POINTER(c_double))
SCORE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), c_double, POINTER(c_double))
DRIFT = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
    POINTER(c_double), POINTER(c_double))
DENSITY = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
    POINTER(c_double))
NOISE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
    POINTER(c_double))
TRAIN_WATCH = CFUNCTYPE(c_int, c_void_p, POINTER(Model), c_uint64, c_double)
ALLOCATE = CFUNCTYPE(c_void_p, c_void_p, c_size_t)
RELEASE = CFUNCTYPE(None, c_void_p, c_void_p)
PROGRESS = CFUNCTYPE(c_int, c_void_p, c_char_p, c_double, c_double)
LOG = CFUNCTYPE(None, c_void_p, c_char_p)
READING = CFUNCTYPE(c_int, c_void_p, c_char_p)
SUP = CFUNCTYPE(c_int, c_void_p, c_double, POINTER(c_double), POINTER(c_double))
NAMES = CFUNCTYPE(POINTER(c_char_p))
GATHER = CFUNCTYPE(c_int, c_void_p, POINTER(c_size_t), c_void_p)

ContextSettings._fields_ = [
    ("size", c_size_t),
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
    ("team", POINTER(Team)),
]

BallConstants._fields_ = [
    ("dim", c_int),
    ("lift", c_int),
    ("C1", c_double),
    ("C2", c_double),
    ("C3", c_double),
    ("c_g", c_double),
    ("volume", c_double),
    ("sigma_star", c_double),
    ("r_max", c_double),
    ("mean_sigma", c_double),
    ("source_mass", c_double),
    ("gradient_mass", c_double),
    ("cylinder_volume", c_double),
    ("cylinder_ratio", c_double),
    ("one_plus_chi2", c_double),
    ("C_d", c_double),
    ("C_sharp", c_double),
]

BallsSettings._fields_ = [
    ("size", c_size_t),
    ("kind", c_int),
    ("process", c_int),
    ("degree", c_int),
    ("pairs", c_int),
    ("directions", c_int),
    ("time_fraction", c_double),
    ("seed", c_uint64),
    ("drift", POINTER(Problem)),
    ("mean", POINTER(c_double)),
    ("covariance", POINTER(c_double)),
]

BallsValues._fields_ = [
    ("size", c_size_t),
    ("x", POINTER(c_double)),
    ("tau", POINTER(c_double)),
    ("weight", POINTER(c_double)),
    ("shift", POINTER(c_double)),
    ("arm", POINTER(c_double)),
    ("arm_weight", POINTER(c_double)),
    ("factor", POINTER(c_double)),
    ("factor0", POINTER(c_double)),
    ("drift", POINTER(c_double)),
    ("rate", POINTER(c_double)),
    ("scale", POINTER(c_double)),
    ("radius", POINTER(c_double)),
    ("noise", POINTER(c_double)),
    ("reference", POINTER(c_double)),
    ("reference0", POINTER(c_double)),
]

BudgetSettings._fields_ = [
    ("size", c_size_t),
    ("dim", c_int),
    ("drift_sup", c_double),
    ("div_sup", c_double),
    ("theta", c_double),
    ("sup", SUP),
    ("sup_user", c_void_p),
    ("u0_min", c_double),
    ("u0_max", c_double),
    ("u0_grad", c_double),
    ("tau", c_double),
]

Budget._fields_ = [
    ("C_d", c_double),
    ("C_sharp", c_double),
    ("T0", c_double),
    ("T0_paper", c_double),
    ("T", c_double),
    ("K", c_double),
    ("Lambda", c_double),
    ("Lambda_paper", c_double),
    ("K_for_T", c_double),
    ("K_for_T_paper", c_double),
    ("inside", c_int),
    ("inside_paper", c_int),
    ("u_lower", c_double),
    ("u_upper", c_double),
    ("v_bound", c_double),
    ("w_bound", c_double),
    ("radius", c_double),
    ("radius_paper", c_double),
    ("score_bound", c_double),
    ("score_bound_paper", c_double),
]

CertifySettings._fields_ = [
    ("size", c_size_t),
    ("process", c_int),
    ("drift", POINTER(Problem)),
    ("tau_min", c_double),
    ("tau_max", c_double),
    ("tau", POINTER(c_double)),
    ("n_tau", c_uint64),
    ("rows", c_uint64),
    ("pairs", c_int),
    ("time_fraction", c_double),
    ("flow_samples", c_uint64),
    ("training", POINTER(c_double)),
    ("n_training", c_uint64),
    ("truth", POINTER(Mixture)),
    ("log_density", CERTIFY),
    ("divergence", CERTIFY),
    ("tolerance", c_double),
    ("level", c_double),
    ("seed", c_uint64),
    ("name", c_char_p),
    ("data_name", c_char_p),
    ("max_time", c_double),
]

CertificateLine._fields_ = [
    ("name", c_char_p),
    ("tau", c_double),
    ("value", c_double),
    ("error", c_double),
    ("p_value", c_double),
    ("verdict", c_int),
    ("text", c_char_p),
]

ClassifierSettings._fields_ = [
    ("size", c_size_t),
    ("width", c_int),
    ("depth", c_int),
    ("epochs", c_int),
    ("batch", c_int),
    ("rate", c_double),
    ("ema", c_double),
    ("shift", c_double),
    ("seed", c_uint64),
]

ClassifierInfo._fields_ = [
    ("dim", c_int),
    ("classes", c_int),
    ("width", c_int),
    ("depth", c_int),
    ("parameters", c_size_t),
]

MeanSettings._fields_ = [
    ("size", c_size_t),
    ("radius", c_double),
    ("lift", c_int),
    ("samples", c_uint64),
    ("degree", c_int),
    ("seed", c_uint64),
    ("quantity", c_int),
]

MeanValues._fields_ = [
    ("size", c_size_t),
    ("u", POINTER(c_double)),
    ("u_se", POINTER(c_double)),
    ("v", POINTER(c_double)),
    ("v_se", POINTER(c_double)),
    ("w", POINTER(c_double)),
    ("w_se", POINTER(c_double)),
    ("score", POINTER(c_double)),
    ("score_se", POINTER(c_double)),
    ("radius", POINTER(c_double)),
]

ResidualValues._fields_ = [
    ("size", c_size_t),
    ("residual", POINTER(c_double)),
    ("residual_se", POINTER(c_double)),
    ("scaled", POINTER(c_double)),
    ("scaled_se", POINTER(c_double)),
]

Field._fields_ = [
    ("dim", c_int),
    ("tau_min", c_double),
    ("tau_max", c_double),
    ("evaluate", FIELD),
    ("user", c_void_p),
]

GenerateSettings._fields_ = [
    ("size", c_size_t),
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
    ("ode_tolerance", c_double),
    ("mean", POINTER(c_double)),
    ("covariance", POINTER(c_double)),
    ("low", c_double),
    ("high", c_double),
    ("seed", c_uint64),
    ("drift", POINTER(Problem)),
    ("ends", POINTER(c_double)),
    ("n_ends", c_uint64),
    ("end_density", LOG_DENSITY),
    ("end_user", c_void_p),
    ("detail", c_double),
]

DensityCheck._fields_ = [
    ("size", c_size_t),
    ("rows", c_size_t),
    ("tau_min", c_double),
    ("log_normaliser", c_double),
    ("log_normaliser_se", c_double),
    ("effective", c_double),
    ("mean", c_double),
    ("spread", c_double),
    ("error_all", c_double),
    ("offset", c_double),
]

GridSettings._fields_ = [
    ("size", c_size_t),
    ("points", c_int * 3),
    ("low", c_double * 3),
    ("high", c_double * 3),
    ("tolerance", c_double),
    ("keep_from", c_double),
    ("max_time", c_double),
    ("n_keep", c_size_t),
    ("keep", POINTER(c_double)),
]

GridInfo._fields_ = [
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
    ("kept_from", c_double),
    ("relaxation", c_double),
]

ImagesSettings._fields_ = [
    ("size", c_size_t),
    ("limit", c_size_t),
    ("resize", c_int),
    ("resample", c_int),
    ("binarize", c_int),
    ("seed", c_uint64),
    ("low", c_double),
    ("high", c_double),
]

Images._fields_ = [
    ("count", c_size_t),
    ("height", c_int),
    ("width", c_int),
    ("classes", c_int),
    ("low", c_double),
    ("high", c_double),
    ("pixels", POINTER(c_double)),
    ("labels", POINTER(c_int)),
]

ScoreError._fields_ = [
    ("tau", c_double),
    ("all", c_double),
    ("all_se", c_double),
    ("low", c_double),
    ("low_se", c_double),
    ("high", c_double),
    ("high_se", c_double),
    ("grid", c_double),
]

Mmd._fields_ = [
    ("mmd", c_double),
    ("mmd2", c_double),
    ("mmd2_se", c_double),
    ("bandwidth", c_double),
]

MmdFloor._fields_ = [
    ("mmd", c_double),
    ("mmd_upper", c_double),
    ("mmd2", c_double),
    ("mmd2_upper", c_double),
]

Memorisation._fields_ = [
    ("median", c_double),
    ("real_median", c_double),
    ("ratio", c_double),
    ("near", c_double),
    ("fraction", c_double),
]

ModelInfo._fields_ = [
    ("dim", c_int),
    ("classes", c_int),
    ("head", c_int),
    ("process", c_int),
    ("width", c_int),
    ("depth", c_int),
    ("skip", c_int),
    ("time_features", c_int),
    ("scale", c_double),
    ("tau_min", c_double),
    ("tau_max", c_double),
    ("parameters", c_size_t),
    ("loss", c_char * 16),
    ("seed", c_uint64),
    ("steps", c_uint64),
    ("image_height", c_int),
    ("image_width", c_int),
    ("pixel_low", c_double),
    ("pixel_high", c_double),
    ("half", c_int),
    ("samples", c_uint64),
]

ModelView._fields_ = [
    ("context", POINTER(Context)),
    ("model", POINTER(Model)),
    ("label", c_int),
]

PanelSettings._fields_ = [
    ("size", c_size_t),
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
    ("color_min", c_double),
    ("color_max", c_double),
    ("color_label", c_char_p),
]

Lattice._fields_ = [
    ("nx", c_int),
    ("ny", c_int),
    ("x0", c_double),
    ("x1", c_double),
    ("y0", c_double),
    ("y1", c_double),
]

ProblemSettings._fields_ = [
    ("size", c_size_t),
    ("dim", c_int),
    ("drift", c_char_p),
    ("potential", c_char_p),
    ("drift_callback", DRIFT),
    ("drift_has_jacobian", c_int),
    ("drift_user", c_void_p),
    ("drift_facts", c_int),
    ("noise", c_char_p),
    ("initial", c_char_p),
    ("initial_callback", DENSITY),
    ("initial_user", c_void_p),
    ("n_parameters", c_int),
    ("parameter_names", POINTER(c_char_p)),
    ("parameter_values", POINTER(c_double)),
    ("time", c_double),
    ("directory", c_char_p),
    ("convention", c_int),
    ("noise_callback", NOISE),
    ("noise_columns", c_int),
    ("noise_autonomous", c_int),
    ("noise_user", c_void_p),
]

Setting._fields_ = [
    ("name", c_char_p),
    ("offset", c_size_t),
    ("kind", c_int),
    ("rules", c_int),
    ("fallback", c_double),
    ("shown", c_char_p),
    ("min", c_double),
    ("max", c_double),
    ("names", NAMES),
    ("help", c_char_p),
    ("range", c_char_p),
]

MethodDescription._fields_ = [
    ("method", c_int),
    ("name", c_char_p),
    ("summary", c_char_p),
    ("reads", c_uint),
    ("on_grid", c_int),
]

SamplingSettings._fields_ = [
    ("size", c_size_t),
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

SolveSettings._fields_ = [
    ("size", c_size_t),
    ("method", c_int),
    ("time", c_double),
    ("mean", POINTER(MeanSettings)),
    ("grid", POINTER(GridSettings)),
    ("sampling", POINTER(SamplingSettings)),
    ("n_times", c_size_t),
    ("times", POINTER(c_double)),
    ("ignore_unread", c_int),
]

Team._fields_ = [
    ("rank", c_int),
    ("ranks", c_int),
    ("threads", c_int),
    ("gather", GATHER),
    ("user", c_void_p),
]

TrainSettings._fields_ = [
    ("size", c_size_t),
    ("loss", c_int),
    ("head", c_int),
    ("process", c_int),
    ("drift", POINTER(Problem)),
    ("width", c_int),
    ("depth", c_int),
    ("skip", c_int),
    ("time_features", c_int),
    ("epochs", c_int),
    ("batch", c_int),
    ("steps", c_uint64),
    ("max_time", c_double),
    ("rate", c_double),
    ("ema", c_double),
    ("clip_gradient", c_double),
    ("tau_min", c_double),
    ("tau_max", c_double),
    ("tau_focus", c_double),
    ("weight", c_double),
    ("warmup", c_double),
    ("ramp", c_double),
    ("time_fraction", c_double),
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
    ("anchor_tau_min", c_double),
    ("constraint_every", c_int),
    ("as_typed", c_int),
]

ENUMS = {
    "hb_status": Status,
    "hb_isa": Isa,
    "hb_measure": Measure,
    "hb_kernel": Kernel,
    "hb_balls_kind": BallsKind,
    "hb_verdict": Verdict,
    "hb_process": Process,
    "hb_quantity": Quantity,
    "hb_dtype": Dtype,
    "hb_solver": Solver,
    "hb_denoise": Denoise,
    "hb_part": Part,
    "hb_resample": Resample,
    "hb_binarize": Binarize,
    "hb_speck": Speck,
    "hb_standardise": Standardise,
    "hb_head": Head,
    "hb_style": Style,
    "hb_format": Format,
    "hb_convention": Convention,
    "hb_drift_fact": DriftFact,
    "hb_initial_kind": InitialKind,
    "hb_setting_kind": SettingKind,
    "hb_setting_rule": SettingRule,
    "hb_method": Method,
    "hb_solve_setting": SolveSetting,
    "hb_column": Column,
    "hb_loss": Loss,
}

STRUCTS = {
    "hb_context_settings": ContextSettings,
    "hb_ball_constants": BallConstants,
    "hb_balls_settings": BallsSettings,
    "hb_balls_values": BallsValues,
    "hb_budget_settings": BudgetSettings,
    "hb_budget": Budget,
    "hb_certify_settings": CertifySettings,
    "hb_certificate_line": CertificateLine,
    "hb_classifier_settings": ClassifierSettings,
    "hb_classifier_info": ClassifierInfo,
    "hb_mean_settings": MeanSettings,
    "hb_mean_values": MeanValues,
    "hb_residual_values": ResidualValues,
    "hb_field": Field,
    "hb_generate_settings": GenerateSettings,
    "hb_density_check": DensityCheck,
    "hb_grid_settings": GridSettings,
    "hb_grid_info": GridInfo,
    "hb_images_settings": ImagesSettings,
    "hb_images": Images,
    "hb_score_error": ScoreError,
    "hb_mmd": Mmd,
    "hb_mmd_floor": MmdFloor,
    "hb_memorisation": Memorisation,
    "hb_model_info": ModelInfo,
    "hb_model_view": ModelView,
    "hb_panel_settings": PanelSettings,
    "hb_lattice": Lattice,
    "hb_problem_settings": ProblemSettings,
    "hb_setting": Setting,
    "hb_method_description": MethodDescription,
    "hb_sampling_settings": SamplingSettings,
    "hb_solve_settings": SolveSettings,
    "hb_team": Team,
    "hb_train_settings": TrainSettings,
}

OPAQUE = {
    "hb_context": Context,
    "hb_cubature": Cubature,
    "hb_balls": Balls,
    "hb_certificate": Certificate,
    "hb_classifier": Classifier,
    "hb_mixture": Mixture,
    "hb_writer": Writer,
    "hb_npz": Npz,
    "hb_expression": Expression,
    "hb_grid": Grid,
    "hb_model": Model,
    "hb_figure": Figure,
    "hb_problem": Problem,
    "hb_solution": Solution,
}

CALLBACKS = {
    "hb_certify_callback": CERTIFY,
    "hb_field_callback": FIELD,
    "hb_log_density_callback": LOG_DENSITY,
    "hb_divergence_callback": DIVERGENCE,
    "hb_score_callback": SCORE,
    "hb_drift_callback": DRIFT,
    "hb_density_callback": DENSITY,
    "hb_noise_callback": NOISE,
    "hb_train_watch": TRAIN_WATCH,
}

SIGNATURES = {
    "hb_version": (c_char_p, ()),
    "hb_status_name": (c_char_p, (c_int,)),
    "hb_status_text": (c_char_p, (c_int,)),
    "hb_context_settings_default": (None, (c_size_t, POINTER(ContextSettings))),
    "hb_context_create": (c_int, (POINTER(ContextSettings), POINTER(POINTER(Context)))),
    "hb_context_destroy": (None, (POINTER(Context),)),
    "hb_context_release": (None, (POINTER(Context), c_void_p)),
    "hb_context_message": (c_char_p, (POINTER(Context),)),
    "hb_context_fail": (c_int, (POINTER(Context), c_int, c_char_p)),
    "hb_context_progress": (c_int, (POINTER(Context), c_char_p, c_double, c_double)),
    "hb_context_threads": (c_int, (POINTER(Context),)),
    "hb_context_isa": (c_char_p, (POINTER(Context),)),
    "hb_ball_psi": (c_double, (c_int, c_double, c_double, c_double)),
    "hb_ball_radius_squared": (c_double, (c_int, c_double, c_double)),
    "hb_ball_contains": (c_int, (c_int, c_double, c_double, c_double)),
    "hb_ball_constants_get": (c_int, (POINTER(Context), c_int, c_int, c_size_t,
     POINTER(BallConstants))),
    "hb_ball_kernel": (c_int, (POINTER(Context), c_int, c_int, c_size_t, c_double,
     POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_ball_sample": (c_int, (POINTER(Context), c_int, c_int, c_int, c_uint64, c_uint64, c_size_t,
     c_double, POINTER(c_double), POINTER(c_double))),
    "hb_ball_sample_rows": (c_int, (POINTER(Context), c_int, c_int, c_int, c_uint64, c_uint64,
     c_size_t, c_double, POINTER(c_double))),
    "hb_ball_sample_rows_f32": (c_int, (POINTER(Context), c_int, c_int, c_int, c_uint64, c_uint64,
     c_size_t, c_double, POINTER(c_float))),
    "hb_cubature_product": (c_int, (POINTER(Context), c_int, c_int, c_int, c_int, c_int, c_int,
     POINTER(POINTER(Cubature)))),
    "hb_cubature_exact": (c_int, (POINTER(Context), c_int, c_int, c_int, c_int,
     POINTER(POINTER(Cubature)))),
    "hb_cubature_destroy": (None, (POINTER(Cubature),)),
    "hb_cubature_size": (c_size_t, (POINTER(Cubature),)),
    "hb_cubature_dim": (c_int, (POINTER(Cubature),)),
    "hb_cubature_nodes": (c_int, (POINTER(Context), POINTER(Cubature), c_int, c_uint64, c_uint64,
     POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_balls_settings_default": (None, (c_size_t, POINTER(BallsSettings))),
    "hb_balls_setting": (POINTER(Setting), (c_size_t,)),
    "hb_balls_create": (c_int, (POINTER(Context), POINTER(BallsSettings), c_int,
     POINTER(POINTER(Balls)))),
    "hb_balls_destroy": (None, (POINTER(Balls),)),
    "hb_balls_nodes": (c_size_t, (POINTER(Balls),)),
    "hb_balls_share": (c_double, (POINTER(Balls),)),
    "hb_balls_place": (c_int, (POINTER(Context), POINTER(Balls), c_uint64, c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double),
     POINTER(BallsValues))),
    "hb_budget_settings_default": (None, (c_size_t, POINTER(BudgetSettings))),
    "hb_budget_setting": (POINTER(Setting), (c_size_t,)),
    "hb_budget_compute": (c_int, (POINTER(Context), POINTER(BudgetSettings), c_size_t,
     POINTER(Budget))),
    "hb_certify_settings_default": (None, (c_size_t, POINTER(CertifySettings))),
    "hb_certify_setting": (POINTER(Setting), (c_size_t,)),
    "hb_certify": (c_int, (POINTER(Context), POINTER(CertifySettings), c_int, c_size_t,
     POINTER(c_double), CERTIFY, c_void_p, POINTER(POINTER(Certificate)))),
    "hb_certify_model": (c_int, (POINTER(Context), POINTER(Model), POINTER(CertifySettings), c_int,
     c_size_t, POINTER(c_double), POINTER(POINTER(Certificate)))),
    "hb_certificate_destroy": (None, (POINTER(Certificate),)),
    "hb_certificate_passed": (c_int, (POINTER(Certificate),)),
    "hb_certificate_summary": (c_char_p, (POINTER(Certificate),)),
    "hb_certificate_size": (c_size_t, (POINTER(Certificate),)),
    "hb_certificate_line_get": (c_int, (POINTER(Context), POINTER(Certificate), c_size_t, c_size_t,
     POINTER(CertificateLine))),
    "hb_certificate_json": (c_int, (POINTER(Context), POINTER(Certificate),
     POINTER(POINTER(c_char)))),
    "hb_certificate_file": (c_char_p, (c_size_t,)),
    "hb_certificate_save": (c_int, (POINTER(Context), POINTER(Certificate), c_char_p)),
    "hb_classifier_settings_default": (None, (c_size_t, POINTER(ClassifierSettings))),
    "hb_classifier_setting": (POINTER(Setting), (c_size_t,)),
    "hb_classifier_train": (c_int, (POINTER(Context), POINTER(ClassifierSettings), c_int, c_int,
     c_size_t, POINTER(c_double), POINTER(c_int), POINTER(POINTER(Classifier)))),
    "hb_classifier_predict": (c_int, (POINTER(Context), POINTER(Classifier), c_size_t,
     POINTER(c_double), POINTER(c_double))),
    "hb_classifier_save": (c_int, (POINTER(Context), POINTER(Classifier), c_char_p)),
    "hb_classifier_load": (c_int, (POINTER(Context), c_char_p, POINTER(POINTER(Classifier)))),
    "hb_classifier_info_get": (c_int, (POINTER(Classifier), c_size_t, POINTER(ClassifierInfo))),
    "hb_classifier_destroy": (None, (POINTER(Classifier),)),
    "hb_mixture_create": (c_int, (POINTER(Context), c_int, c_size_t, POINTER(c_double),
     POINTER(c_double), POINTER(c_double), POINTER(POINTER(Mixture)))),
    "hb_mixture_named": (c_int, (POINTER(Context), c_char_p, POINTER(POINTER(Mixture)))),
    "hb_mixture_destroy": (None, (POINTER(Mixture),)),
    "hb_mixture_dim": (c_int, (POINTER(Mixture),)),
    "hb_mixture_count": (c_size_t, (POINTER(Mixture),)),
    "hb_mixture_component": (c_int, (POINTER(Context), POINTER(Mixture), c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_mixture_moments": (None, (POINTER(Mixture), POINTER(c_double), POINTER(c_double))),
    "hb_mixture_sample": (c_int, (POINTER(Context), POINTER(Mixture), c_uint64, c_uint64, c_size_t,
     POINTER(c_double), POINTER(c_int))),
    "hb_mixture_sample_at": (c_int, (POINTER(Context), POINTER(Mixture), c_int, c_uint64, c_uint64,
     c_size_t, c_double, POINTER(c_double), POINTER(c_int))),
    "hb_mixture_score": (c_int, (POINTER(Context), POINTER(Mixture), c_int, c_size_t,
     POINTER(c_double), c_double, POINTER(c_double), POINTER(c_double))),
    "hb_mixture_score_each": (c_int, (POINTER(Context), POINTER(Mixture), c_int, c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_mixture_modes": (c_int, (POINTER(Mixture), POINTER(c_int))),
    "hb_data_names": (POINTER(c_char_p), ()),
    "hb_data_describe": (c_char_p, (c_char_p,)),
    "hb_data_read": (c_int, (POINTER(Context), c_char_p, POINTER(c_int), POINTER(c_size_t),
     POINTER(POINTER(c_double)))),
    "hb_data_read_named": (c_int, (POINTER(Context), c_char_p, POINTER(c_int), POINTER(c_size_t),
     POINTER(POINTER(c_double)), POINTER(POINTER(c_char)))),
    "hb_data_split": (c_int, (POINTER(Context), c_uint64, c_size_t, POINTER(c_size_t))),
    "hb_mean_settings_default": (None, (c_size_t, POINTER(MeanSettings))),
    "hb_mean_setting": (POINTER(Setting), (c_size_t,)),
    "hb_mean_value": (c_int, (POINTER(Context), POINTER(Problem), POINTER(Field),
     POINTER(MeanSettings), c_size_t, POINTER(c_double), c_double, POINTER(MeanValues))),
    "hb_mean_monotonicity": (c_int, (POINTER(Context), POINTER(Problem), POINTER(Field),
     POINTER(MeanSettings), c_int, POINTER(c_double), c_double, POINTER(c_double),
     POINTER(c_double), POINTER(c_double))),
    "hb_mean_residual": (c_int, (POINTER(Context), POINTER(Problem), POINTER(Field),
     POINTER(MeanSettings), c_size_t, c_int, POINTER(c_double), c_double, POINTER(c_double),
     POINTER(ResidualValues))),
    "hb_writer_create": (c_int, (POINTER(Context), c_char_p, POINTER(POINTER(Writer)))),
    "hb_writer_write": (c_int, (POINTER(Writer), c_size_t, c_void_p)),
    "hb_writer_printf": (c_int, (POINTER(Writer), c_char_p)),
    "hb_writer_reserve": (c_int, (POINTER(Writer), c_uint64)),
    "hb_writer_part": (c_int, (POINTER(Writer), c_uint64)),
    "hb_writer_measure": (c_uint64, (POINTER(Writer), c_int)),
    "hb_writer_commit": (c_int, (POINTER(Writer),)),
    "hb_writer_abort": (None, (POINTER(Writer),)),
    "hb_writer_close": (c_int, (POINTER(Writer), c_int)),
    "hb_writer_npy_begin": (c_int, (POINTER(Writer), c_int, c_int, POINTER(c_uint64))),
    "hb_npz_create": (c_int, (POINTER(Context), c_char_p, POINTER(POINTER(Npz)))),
    "hb_npz_add": (c_int, (POINTER(Npz), c_int, c_char_p, POINTER(c_uint64), POINTER(c_double))),
    "hb_npz_commit": (c_int, (POINTER(Npz),)),
    "hb_npz_abort": (None, (POINTER(Npz),)),
    "hb_writer_csv_begin": (c_int, (POINTER(Writer), c_int, c_uint64, c_int)),
    "hb_writer_csv_header": (c_int, (POINTER(Writer), c_int, POINTER(c_char_p))),
    "hb_writer_csv_rows": (c_int, (POINTER(Writer), c_int, c_size_t, c_int, c_void_p)),
    "hb_table_read": (c_int, (POINTER(Context), c_char_p, POINTER(c_int), POINTER(c_uint64),
     POINTER(POINTER(c_double)))),
    "hb_table_read_named": (c_int, (POINTER(Context), c_char_p, POINTER(c_int), POINTER(c_uint64),
     POINTER(POINTER(c_double)), POINTER(POINTER(c_char)))),
    "hb_png_write_grey": (c_int, (POINTER(Context), c_int, c_int, c_char_p, POINTER(c_ubyte))),
    "hb_expression_parse": (c_int, (POINTER(Context), c_int, c_int, c_char_p, POINTER(c_char_p),
     POINTER(c_double), POINTER(POINTER(Expression)))),
    "hb_expression_destroy": (None, (POINTER(Expression),)),
    "hb_expression_derivative": (c_int, (POINTER(Context), POINTER(Expression), c_int,
     POINTER(POINTER(Expression)))),
    "hb_expression_evaluate": (c_int, (POINTER(Context), POINTER(Expression), c_size_t,
     POINTER(c_double), c_double, POINTER(c_double))),
    "hb_generate_settings_default": (None, (c_size_t, POINTER(GenerateSettings))),
    "hb_generate_setting": (POINTER(Setting), (c_size_t,)),
    "hb_generate": (c_int, (POINTER(Context), POINTER(GenerateSettings), c_int, c_uint64, c_size_t,
     SCORE, c_void_p, POINTER(c_double))),
    "hb_generate_likelihood": (c_int, (POINTER(Context), POINTER(GenerateSettings), c_int, c_int,
     c_size_t, POINTER(c_double), SCORE, DIVERGENCE, c_void_p, POINTER(c_double),
     POINTER(c_double))),
    "hb_model_generate": (c_int, (POINTER(Context), POINTER(Model), POINTER(GenerateSettings),
     c_uint64, c_size_t, POINTER(c_int), POINTER(c_double))),
    "hb_model_likelihood": (c_int, (POINTER(Context), POINTER(Model), POINTER(GenerateSettings),
     c_int, c_size_t, POINTER(c_double), POINTER(c_int), POINTER(c_double), POINTER(c_double))),
    "hb_model_density_check": (c_int, (POINTER(Context), POINTER(Model), POINTER(GenerateSettings),
     c_size_t, c_int, c_size_t, POINTER(DensityCheck), POINTER(c_double), POINTER(c_double))),
    "hb_model_direct_likelihood": (c_int, (POINTER(Context), POINTER(Model), c_size_t,
     POINTER(DensityCheck), POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_int),
     POINTER(c_double), POINTER(c_double))),
    "hb_model_log_normaliser": (c_int, (POINTER(Context), POINTER(Model), c_uint64,
     POINTER(c_double), POINTER(c_double))),
    "hb_grid_settings_default": (None, (c_size_t, POINTER(GridSettings))),
    "hb_grid_solve": (c_int, (POINTER(Context), POINTER(Problem), POINTER(GridSettings), c_size_t,
     POINTER(c_double), c_double, POINTER(POINTER(Grid)))),
    "hb_grid_destroy": (None, (POINTER(Grid),)),
    "hb_grid_info_get": (c_int, (POINTER(Grid), c_size_t, POINTER(GridInfo))),
    "hb_grid_evaluate": (c_int, (POINTER(Context), POINTER(Grid), c_size_t, POINTER(c_double),
     c_double, POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_grid_field": (None, (POINTER(Grid), POINTER(Field))),
    "hb_images_settings_default": (None, (c_size_t, POINTER(ImagesSettings))),
    "hb_images_setting": (POINTER(Setting), (c_size_t,)),
    "hb_images_load": (c_int, (POINTER(Context), POINTER(ImagesSettings), c_int, c_char_p, c_size_t,
     POINTER(Images))),
    "hb_images_destroy": (None, (POINTER(Context), POINTER(Images))),
    "hb_images_dequantise": (c_int, (POINTER(Context), c_uint64, c_uint64, c_size_t,
     POINTER(c_double))),
    "hb_images_names": (POINTER(c_char_p), ()),
    "hb_images_describe": (c_char_p, (c_char_p,)),
    "hb_images_directory": (c_int, (POINTER(Context), c_char_p, c_size_t, POINTER(c_char),
     POINTER(c_int))),
    "hb_images_grid_write": (c_int, (POINTER(Context), c_int, c_int, c_int, c_int, c_char_p,
     POINTER(c_double))),
    "hb_judge_score": (c_int, (POINTER(Context), POINTER(Mixture), c_int, c_uint64, c_size_t,
     c_double, SCORE, c_void_p, c_size_t, POINTER(ScoreError))),
    "hb_judge_mmd": (c_int, (POINTER(Context), c_int, c_int, c_size_t, c_size_t, POINTER(c_double),
     POINTER(c_double), c_size_t, POINTER(Mmd))),
    "hb_judge_mmd_floor": (c_int, (POINTER(Context), c_int, c_int, c_int, c_uint64, c_size_t,
     c_size_t, c_size_t, c_size_t, POINTER(c_double), POINTER(c_double), c_size_t,
     POINTER(MmdFloor))),
    "hb_judge_kolmogorov": (c_int, (POINTER(Context), c_int, c_size_t, c_size_t, POINTER(c_double),
     POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_judge_nearest": (c_int, (POINTER(Context), c_int, c_size_t, c_size_t, POINTER(c_double),
     POINTER(c_double), POINTER(c_size_t), POINTER(c_double))),
    "hb_judge_precision_recall": (c_int, (POINTER(Context), c_int, c_int, c_size_t, c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_judge_memorisation": (c_int, (POINTER(Context), c_int, c_size_t, c_size_t, c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_double), c_size_t, POINTER(Memorisation))),
    "hb_judge_artifacts": (c_int, (POINTER(Context), c_int, c_int, c_int, c_int, c_size_t, c_double,
     POINTER(c_double), POINTER(c_size_t), POINTER(c_size_t))),
    "hb_judge_artifacts_threshold": (c_int, (POINTER(Context), c_int, c_int, c_int, c_int, c_size_t,
     c_double, POINTER(c_double), POINTER(c_double))),
    "hb_judge_modes": (c_int, (POINTER(Context), POINTER(Mixture), c_size_t, POINTER(c_double),
     POINTER(c_size_t), POINTER(c_size_t), POINTER(c_int))),
    "hb_judge_curl": (c_int, (POINTER(Context), c_int, c_int, c_uint64, c_size_t, POINTER(c_double),
     c_double, SCORE, c_void_p, POINTER(c_double), POINTER(c_double))),
    "hb_judge_helmholtz": (c_int, (POINTER(Context), c_int, c_int, c_double, c_double,
     POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double),
     POINTER(c_double))),
    "hb_model_load": (c_int, (POINTER(Context), c_char_p, POINTER(POINTER(Model)))),
    "hb_model_save": (c_int, (POINTER(Context), POINTER(Model), c_char_p)),
    "hb_model_destroy": (None, (POINTER(Model),)),
    "hb_model_info_get": (c_int, (POINTER(Model), c_size_t, POINTER(ModelInfo))),
    "hb_model_score": (c_int, (POINTER(Context), POINTER(Model), c_size_t, POINTER(c_double),
     POINTER(c_double), POINTER(c_int), POINTER(c_double))),
    "hb_model_log_density": (c_int, (POINTER(Context), POINTER(Model), c_size_t, POINTER(c_double),
     POINTER(c_double), POINTER(c_int), POINTER(c_double), POINTER(c_double))),
    "hb_model_divergence": (c_int, (POINTER(Context), POINTER(Model), c_int, c_uint64, c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_int), POINTER(c_double), POINTER(c_double))),
    "hb_model_field": (c_int, (POINTER(Context), POINTER(Model), POINTER(Field))),
    "hb_model_standardise": (None, (POINTER(Model), c_size_t, POINTER(c_double),
     POINTER(c_double))),
    "hb_model_to_data": (None, (POINTER(Model), c_size_t, POINTER(c_double), POINTER(c_double))),
    "hb_model_score_of_z": (c_int, (POINTER(Context), POINTER(Model), c_size_t, POINTER(c_double),
     POINTER(c_double), POINTER(c_int), POINTER(c_double))),
    "hb_model_log_density_of_z": (c_int, (POINTER(Context), POINTER(Model), c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_int), POINTER(c_double), POINTER(c_double))),
    "hb_model_maps": (c_char_p, (POINTER(Model),)),
    "hb_model_scales": (None, (POINTER(Model), POINTER(c_double), POINTER(c_double))),
    "hb_model_problem": (POINTER(Problem), (POINTER(Model),)),
    "hb_model_column_name": (c_char_p, (POINTER(Model), c_int)),
    "hb_model_view_score": (c_int, (c_void_p, c_size_t, POINTER(c_double), c_double,
     POINTER(c_double))),
    "hb_panel_settings_default": (None, (c_size_t, POINTER(PanelSettings))),
    "hb_figure_create": (c_int, (POINTER(Context), c_int, c_int, c_int, c_int,
     POINTER(POINTER(Figure)))),
    "hb_figure_destroy": (None, (POINTER(Figure),)),
    "hb_figure_panel": (c_int, (POINTER(Figure), POINTER(PanelSettings))),
    "hb_figure_series": (c_int, (POINTER(Figure), c_int, c_int, c_size_t, c_char_p,
     POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_figure_shade": (c_int, (POINTER(Figure), c_double)),
    "hb_figure_image": (c_int, (POINTER(Figure), POINTER(Lattice), c_char_p, POINTER(c_double))),
    "hb_figure_contours": (c_int, (POINTER(Figure), c_int, c_int, POINTER(Lattice), c_char_p,
     POINTER(c_double), POINTER(c_double))),
    "hb_figure_streamlines": (c_int, (POINTER(Figure), c_int, POINTER(Lattice), c_char_p,
     POINTER(c_double), POINTER(c_double))),
    "hb_figure_plain": (None, (c_char_p, c_size_t, POINTER(c_char))),
    "hb_figure_write": (c_int, (POINTER(Figure), c_int, c_char_p)),
    "hb_figure_write_film": (c_int, (POINTER(Context), c_size_t, c_char_p, c_char_p,
     POINTER(c_double), POINTER(POINTER(Figure)))),
    "hb_problem_settings_default": (None, (c_size_t, POINTER(ProblemSettings))),
    "hb_problem_create": (c_int, (POINTER(Context), POINTER(ProblemSettings),
     POINTER(POINTER(Problem)))),
    "hb_problem_parse": (c_int, (POINTER(Context), c_char_p, c_char_p, c_char_p,
     POINTER(POINTER(Problem)))),
    "hb_problem_load": (c_int, (POINTER(Context), POINTER(ProblemSettings), c_char_p,
     POINTER(POINTER(Problem)))),
    "hb_problem_destroy": (None, (POINTER(Problem),)),
    "hb_problem_dim": (c_int, (POINTER(Problem),)),
    "hb_problem_time": (c_double, (POINTER(Problem),)),
    "hb_problem_times": (c_size_t, (POINTER(Problem), POINTER(POINTER(c_double)))),
    "hb_problem_times_read": (c_int, (POINTER(Context), c_char_p, POINTER(c_size_t),
     POINTER(POINTER(c_double)))),
    "hb_problem_initial_kind": (c_int, (POINTER(Problem),)),
    "hb_problem_is_gradient": (c_int, (POINTER(Problem),)),
    "hb_problem_is_autonomous": (c_int, (POINTER(Problem),)),
    "hb_problem_is_linear": (c_int, (POINTER(Problem),)),
    "hb_problem_text": (c_char_p, (POINTER(Problem),)),
    "hb_problem_initial_text": (c_char_p, (POINTER(Problem),)),
    "hb_problem_frame": (c_char_p, (POINTER(Problem),)),
    "hb_problem_to_frame": (c_int, (POINTER(Context), POINTER(Problem), c_size_t, POINTER(c_double),
     c_double, POINTER(c_double))),
    "hb_problem_from_frame": (c_int, (POINTER(Context), POINTER(Problem), c_size_t,
     POINTER(c_double), c_double, POINTER(c_double))),
    "hb_problem_tau_of_t": (c_int, (POINTER(Context), POINTER(Problem), c_double,
     POINTER(c_double))),
    "hb_problem_t_of_tau": (c_int, (POINTER(Context), POINTER(Problem), c_double,
     POINTER(c_double))),
    "hb_problem_drift": (c_int, (POINTER(Context), POINTER(Problem), c_size_t, POINTER(c_double),
     c_double, POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double))),
    "hb_problem_drift_each": (c_int, (POINTER(Context), POINTER(Problem), c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double),
     POINTER(c_double))),
    "hb_problem_initial": (c_int, (POINTER(Context), POINTER(Problem), c_size_t, POINTER(c_double),
     POINTER(c_double), POINTER(c_double))),
    "hb_problem_initial_box": (c_int, (POINTER(Context), POINTER(Problem), POINTER(c_double),
     POINTER(c_double))),
    "hb_problem_initial_sample": (c_int, (POINTER(Context), POINTER(Problem), c_uint64, c_uint64,
     c_size_t, POINTER(c_double))),
    "hb_random_words": (c_int, (POINTER(Context), c_uint64, c_uint64, c_uint64, c_size_t,
     POINTER(c_uint32))),
    "hb_random_uniform": (c_int, (POINTER(Context), c_uint64, c_uint64, c_uint64, c_size_t,
     POINTER(c_double))),
    "hb_random_normal": (c_int, (POINTER(Context), c_uint64, c_uint64, c_uint64, c_size_t,
     POINTER(c_double))),
    "hb_random_uniform_f32": (c_int, (POINTER(Context), c_uint64, c_uint64, c_uint64, c_size_t,
     POINTER(c_float))),
    "hb_random_normal_f32": (c_int, (POINTER(Context), c_uint64, c_uint64, c_uint64, c_size_t,
     POINTER(c_float))),
    "hb_method_info": (POINTER(MethodDescription), (c_int,)),
    "hb_method_of": (POINTER(MethodDescription), (c_int,)),
    "hb_method_names": (POINTER(c_char_p), ()),
    "hb_sampling_settings_default": (None, (c_size_t, POINTER(SamplingSettings))),
    "hb_solve_settings_default": (None, (c_size_t, POINTER(SolveSettings))),
    "hb_solve": (c_int, (POINTER(Context), POINTER(Problem), POINTER(SolveSettings), c_size_t,
     POINTER(c_double), POINTER(POINTER(Solution)))),
    "hb_solution_destroy": (None, (POINTER(Solution),)),
    "hb_solution_size": (c_size_t, (POINTER(Solution),)),
    "hb_solution_dim": (c_int, (POINTER(Solution),)),
    "hb_solution_tau": (c_double, (POINTER(Solution),)),
    "hb_solution_n_times": (c_size_t, (POINTER(Solution),)),
    "hb_solution_time": (c_double, (POINTER(Solution), c_size_t)),
    "hb_solution_time_tau": (c_double, (POINTER(Solution), c_size_t)),
    "hb_solution_method": (c_char_p, (POINTER(Solution),)),
    "hb_solution_note": (c_char_p, (POINTER(Solution),)),
    "hb_solution_unread": (c_char_p, (POINTER(Solution),)),
    "hb_solution_point_method": (c_char_p, (POINTER(Solution), c_size_t)),
    "hb_solution_error_kind": (c_char_p, (POINTER(Solution), c_size_t)),
    "hb_solution_warning": (c_char_p, (POINTER(Solution), c_size_t)),
    "hb_solution_samples": (c_uint64, (POINTER(Solution), c_size_t)),
    "hb_solution_grid": (POINTER(Grid), (POINTER(Solution),)),
    "hb_solution_evaluate": (c_int, (POINTER(Context), POINTER(Solution), c_size_t, c_size_t,
     POINTER(c_double), POINTER(c_double), POINTER(c_double), POINTER(c_double),
     POINTER(c_double))),
    "hb_solution_box": (c_int, (POINTER(Solution), c_size_t, POINTER(c_double), POINTER(c_double))),
    "hb_solution_values": (POINTER(c_double), (POINTER(Solution), c_int)),
    "hb_solve_residual": (c_int, (POINTER(Context), POINTER(Problem), POINTER(SolveSettings),
     c_size_t, c_int, POINTER(c_double), POINTER(c_double), POINTER(ResidualValues))),
    "hb_context_team": (POINTER(Team), (POINTER(Context),)),
    "hb_context_rank": (c_int, (POINTER(Context),)),
    "hb_context_ranks": (c_int, (POINTER(Context),)),
    "hb_context_agree": (c_int, (POINTER(Context), c_size_t, c_void_p)),
    "hb_context_settle": (c_int, (POINTER(Context), c_int)),
    "hb_loss_names": (POINTER(c_char_p), ()),
    "hb_train_settings_default": (None, (c_size_t, POINTER(TrainSettings))),
    "hb_train_setting": (POINTER(Setting), (c_size_t,)),
    "hb_train": (c_int, (POINTER(Context), POINTER(TrainSettings), c_int, c_int, c_size_t,
     POINTER(c_double), POINTER(c_int), POINTER(POINTER(Model)))),
    "hb_model_mode_gap": (c_int, (POINTER(Context), POINTER(Model), c_size_t, POINTER(c_double),
     POINTER(c_double), POINTER(c_double))),
}

MPI_SIGNATURES = {
    "hb_team_mpi": (c_int, (c_void_p, POINTER(POINTER(Team)))),
    "hb_team_mpi_destroy": (None, (POINTER(Team),)),
    "hb_team_mpi_alone": (c_int, (POINTER(Team), c_double)),
    "hb_team_mpi_abort": (None, (POINTER(Team), c_int)),
    "hb_team_mpi_traffic": (None, (POINTER(Team), POINTER(c_uint64), POINTER(c_uint64))),
}
