"""The structs and callbacks of include/heatball/*.h; tests compare them with what the C compiler says."""

import ctypes
from ctypes import (CFUNCTYPE, POINTER, c_char, c_char_p, c_double, c_int, c_size_t, c_uint64,
                    c_void_p)

ALLOCATE = CFUNCTYPE(c_void_p, c_void_p, c_size_t)
RELEASE = CFUNCTYPE(None, c_void_p, c_void_p)
PROGRESS = CFUNCTYPE(c_int, c_void_p, c_char_p, c_double, c_double)
LOG = CFUNCTYPE(None, c_void_p, c_char_p)
READING = CFUNCTYPE(c_int, c_void_p, c_char_p)
GATHER = CFUNCTYPE(c_int, c_void_p, POINTER(c_size_t), c_void_p)
SUP = CFUNCTYPE(c_int, c_void_p, c_double, POINTER(c_double), POINTER(c_double))
DRIFT = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
                  POINTER(c_double), POINTER(c_double))
NOISE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
                  POINTER(c_double))
INITIAL_DENSITY = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
                            POINTER(c_double))
FIELD = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double),
                  POINTER(c_double), POINTER(c_double))

SCORE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), c_double, POINTER(c_double))
LOG_DENSITY = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double))
DIVERGENCE = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), c_double,
                       POINTER(c_double), POINTER(c_double))
CERTIFY = CFUNCTYPE(c_int, c_void_p, c_size_t, POINTER(c_double), POINTER(c_double), POINTER(c_double))

# Callbacks that functions take as an argument, by their names in C.
CALLBACKS = {"hb_score_callback": SCORE, "hb_divergence_callback": DIVERGENCE, "hb_certify_callback": CERTIFY}


class Context(ctypes.Structure):
    """hb_context: opaque."""


class Cubature(ctypes.Structure):
    """hb_cubature: opaque."""


class Writer(ctypes.Structure):
    """hb_writer: opaque."""


class Certificate(ctypes.Structure):
    """hb_certificate: opaque."""


class Npz(ctypes.Structure):
    """hb_npz: opaque."""


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


class Balls(ctypes.Structure):
    """hb_balls: opaque."""


TRAIN_WATCH = CFUNCTYPE(c_int, c_void_p, POINTER(Model), c_uint64, c_double)


class Team(ctypes.Structure):
    _fields_ = [
        ("rank", c_int),
        ("ranks", c_int),
        ("threads", c_int),
        ("gather", GATHER),
        ("user", c_void_p),
    ]


class ContextSettings(ctypes.Structure):
    _fields_ = [
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


class BallConstants(ctypes.Structure):
    _fields_ = [("dim", c_int), ("lift", c_int)] + [
        (name, c_double)
        for name in ("C1", "C2", "C3", "c_g", "volume", "sigma_star", "r_max", "mean_sigma",
                     "source_mass", "gradient_mass", "cylinder_volume", "cylinder_ratio",
                     "one_plus_chi2", "C_d", "C_sharp")
    ]


class BudgetSettings(ctypes.Structure):
    _fields_ = [
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


class PanelSettings(ctypes.Structure):
    _fields_ = [
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


class Lattice(ctypes.Structure):
    _fields_ = [("nx", c_int), ("ny", c_int)] + [
        (name, c_double) for name in ("x0", "x1", "y0", "y1")]


class ProblemSettings(ctypes.Structure):
    _fields_ = [
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
        ("initial_callback", INITIAL_DENSITY),
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
        ("kept_from", c_double),
        ("relaxation", c_double),
    ]


class BallsSettings(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("process", c_int),
        ("degree", c_int),
        ("pairs", c_int),
        ("directions", c_int),
        ("share", c_double),
        ("seed", c_uint64),
        ("drift", POINTER(Problem)),
        ("mean", POINTER(c_double)),
        ("covariance", POINTER(c_double)),
    ]


class BallsValues(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [
        (name, POINTER(c_double))
        for name in ("x", "tau", "weight", "shift", "arm", "arm_weight", "factor", "factor0", "drift",
                     "rate", "scale", "radius", "noise", "reference", "reference0")]


class MeanSettings(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("radius", c_double),
        ("lift", c_int),
        ("samples", c_uint64),
        ("degree", c_int),
        ("seed", c_uint64),
        ("quantity", c_int),
    ]


class MeanValues(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [
        (name, POINTER(c_double))
        for name in ("u", "u_se", "v", "v_se", "w", "w_se", "score", "score_se", "radius")]


class ResidualValues(ctypes.Structure):
    _fields_ = [("size", c_size_t)] + [
        (name, POINTER(c_double)) for name in ("residual", "residual_se", "scaled", "scaled_se")]


class SamplingSettings(ctypes.Structure):
    _fields_ = [
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


class SolveSettings(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("method", c_int),
        ("time", c_double),
        ("mean", POINTER(MeanSettings)),
        ("grid", POINTER(GridSettings)),
        ("sampling", POINTER(SamplingSettings)),
        ("n_times", c_size_t),
        ("times", POINTER(c_double)),
    ]


class GuideSettings(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("time", c_double),
        ("training_steps", c_uint64),
        ("width", c_int),
        ("walks", c_uint64),
        ("walk_steps", c_int),
        ("probes", c_int),
        ("seed", c_uint64),
    ]


class CertifySettings(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
        ("process", c_int),
        ("drift", POINTER(Problem)),
        ("tau_min", c_double),
        ("tau_max", c_double),
        ("tau", POINTER(c_double)),
        ("n_tau", c_uint64),
        ("rows", c_uint64),
        ("pairs", c_int),
        ("share", c_double),
        ("samples", c_uint64),
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


class CertificateLine(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("tau", c_double),
        ("value", c_double),
        ("error", c_double),
        ("p_value", c_double),
        ("verdict", c_int),
        ("text", c_char_p),
    ]


class GenerateSettings(ctypes.Structure):
    _fields_ = [
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
        ("tolerance", c_double),
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


class Setting(ctypes.Structure):
    _fields_ = [
        ("name", c_char_p),
        ("offset", c_size_t),
        ("kind", c_int),
        ("rules", c_int),
        ("fallback", c_double),
        ("shown", c_char_p),
        ("min", c_double),
        ("max", c_double),
        ("names", CFUNCTYPE(POINTER(c_char_p))),
        ("help", c_char_p),
    ]


class TrainSettings(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
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
        ("anchor_tau_min", c_double),
        ("constraint_every", c_int),
        ("as_typed", c_int),
    ]


class ImagesSettings(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t),
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
    "hb_team": Team,
    "hb_context_settings": ContextSettings,
    "hb_ball_constants": BallConstants,
    "hb_budget_settings": BudgetSettings,
    "hb_budget": Budget,
    "hb_panel_settings": PanelSettings,
    "hb_lattice": Lattice,
    "hb_problem_settings": ProblemSettings,
    "hb_field": Field,
    "hb_grid_settings": GridSettings,
    "hb_grid_info": GridInfo,
    "hb_balls_settings": BallsSettings,
    "hb_balls_values": BallsValues,
    "hb_mean_settings": MeanSettings,
    "hb_mean_values": MeanValues,
    "hb_residual_values": ResidualValues,
    "hb_sampling_settings": SamplingSettings,
    "hb_solve_settings": SolveSettings,
    "hb_guide_settings": GuideSettings,
    "hb_score_error": ScoreError,
    "hb_mmd": Mmd,
    "hb_mmd_floor": MmdFloor,
    "hb_memorisation": Memorisation,
    "hb_classifier_settings": ClassifierSettings,
    "hb_classifier_info": ClassifierInfo,
    "hb_generate_settings": GenerateSettings,
    "hb_certify_settings": CertifySettings,
    "hb_certificate_line": CertificateLine,
    "hb_model_info": ModelInfo,
    "hb_model_view": ModelView,
    "hb_setting": Setting,
    "hb_train_settings": TrainSettings,
}
OPAQUE = {
    "hb_context": Context,
    "hb_cubature": Cubature,
    "hb_writer": Writer,
    "hb_npz": Npz,
    "hb_figure": Figure,
    "hb_expression": Expression,
    "hb_problem": Problem,
    "hb_grid": Grid,
    "hb_solution": Solution,
    "hb_mixture": Mixture,
    "hb_model": Model,
    "hb_classifier": Classifier,
    "hb_certificate": Certificate,
    "hb_balls": Balls,
}
