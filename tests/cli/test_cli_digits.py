"""Images as data of `heatball train`, and pictures of `heatball generate`.

Oracles: NumPy for pixels, shapes and means; the model's own metadata, read as JSON.
"""

import json
import struct
import zlib

import numpy as np
import pytest

import heatball
import command_line
from command_line import metadata

HEIGHT, WIDTH, N = 9, 6, 90  # not square: the shape must come from the model
NET = ["--loss", "dsm", "--head", "score", "--width", "12", "--depth", "1", "--steps", "30"]


def run(*arguments, code=0):
    done = command_line.run(*arguments)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def read_png(path):
    """Grey bytes of a picture, by zlib and the filters of the format."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[at + 8:at + 18])
            assert (depth, colour) == (8, 0)
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    lines = np.frombuffer(zlib.decompress(packed), np.uint8).reshape(height, width + 1)
    picture = np.zeros((height + 1, width + 1), int)
    for y, line in enumerate(lines.astype(int)):
        for x, value in enumerate(line[1:]):
            left, up, corner = picture[y + 1, x], picture[y, x + 1], picture[y, x]
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda p: abs(guess - p))
            add = (0, left, up, (left + up) // 2, paeth)[line[0]]
            picture[y + 1, x + 1] = (value + add) % 256
    return picture[1:, 1:]


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """A directory with a training and a test part: class 1 is bright on the left."""
    directory = tmp_path_factory.mktemp("digits")
    generator = np.random.default_rng(3)
    for part, n in (("train", N), ("t10k", 30)):
        labels = (np.arange(n) % 2).astype(np.uint8)
        pixels = generator.integers(0, 60, (n, HEIGHT, WIDTH)).astype(np.uint8)
        pixels[labels == 1, :, :3] += 180
        (directory / f"{part}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 2051, n, HEIGHT, WIDTH) + pixels.tobytes())
        (directory / f"{part}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 2049, n) + labels.tobytes())
    return directory


@pytest.fixture(scope="module")
def model(images):
    path = images / "model.safetensors"
    run("train", "--data", images, *NET, "-q", "-o", path)
    return path


def test_the_model_keeps_the_shape_and_the_classes(model):
    texts = metadata(model)
    assert (texts["image_height"], texts["image_width"]) == (str(HEIGHT), str(WIDTH))
    assert (texts["pixel_low"], texts["pixel_high"]) == ("0", "1")
    assert texts["classes"] == "2" and texts["dim"] == str(HEIGHT * WIDTH)


def test_rows_that_are_no_images_have_no_shape(tmp_path):
    run("train", "--data", "ring", "-n", "50", *NET, "-q", "-o", tmp_path / "m.safetensors")
    assert "image_height" not in metadata(tmp_path / "m.safetensors")


def test_options_of_images(images, tmp_path):
    file = images / "train-images-idx3-ubyte"
    said = json.loads(run("train", "--data", file, "--resize", "5", "--resample", "bilinear",
                          "--limit", "40", *NET, "--json", "-q", "-o", tmp_path / "m.safetensors"))
    assert (said["rows"], said["dim"], said["classes"], said["held_out"]) == (40, 25, 2, 0)
    assert (said["image_height"], said["image_width"]) == (5, 5)
    said = json.loads(run("train", "--data", images, "--part", "test", "--binarize", "threshold",
                          *NET, "--json", "-q", "-o", tmp_path / "m.safetensors"))
    assert said["rows"] == 30


def test_dequantised_pixels_have_their_own_black_and_white(images, tmp_path):
    path = tmp_path / "d.safetensors"
    run("train", "--data", images, "--dequantise", *NET, "-q", "-o", path)
    texts = metadata(path)
    assert float(texts["pixel_low"]) == 0.5 / 256 and float(texts["pixel_high"]) == 255.5 / 256


def test_black_and_white_of_the_model_are_undone(model, tmp_path):
    """The same weights with other values of black and white in the header."""
    data = model.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    header["__metadata__"].update(pixel_low="-1.5", pixel_high="2.385", format="heatball model 1")
    del header["__metadata__"]["checksum"]  # which files of format 1 do not have
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    other = tmp_path / "other.safetensors"
    other.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + size:])
    x = []
    for which in (model, other):
        run("generate", which, "-n", 20, "--n-steps", 10, "--clip", "no", "-q", "-o", tmp_path / "x.npy")
        x.append(np.load(tmp_path / "x.npy"))
    assert np.allclose(x[1], (x[0] + 1.5) / 3.885, rtol=0, atol=1e-14)


def test_pixels_stay_between_black_and_white(model, tmp_path):
    made = {}
    for name, options in (("default", []), ("yes", ["--clip", "yes"]), ("no", ["--clip", "no"])):
        said = json.loads(run("generate", model, "-n", 60, "--n-steps", 30, *options, "--json", "-q",
                              "-o", tmp_path / "x.npy"))
        assert said["clip"] is (name != "no")
        made[name] = np.load(tmp_path / "x.npy")
    assert np.array_equal(made["default"], made["yes"])
    assert -1e-12 < made["yes"].min() and made["yes"].max() < 1 + 1e-12
    assert made["no"].min() < -0.01
    lent = heatball.load(model)
    assert np.array_equal(lent.generate(60, n_steps=30), made["yes"])
    assert np.array_equal(lent.generate(60, n_steps=30, clip=False), made["no"])


def test_the_last_step_of_images_is_the_mean(model, tmp_path):
    """Without --denoise: the mean for a model of images, flow for others."""
    made = {}
    for name, options in (("default", []), ("mean", ["--denoise", "mean"]),
                          ("flow", ["--denoise", "flow"])):
        path = tmp_path / f"{name}.npy"
        said = json.loads(run("generate", model, "-n", 9, "--n-steps", 10, *options, "--json", "-q",
                              "-o", path))
        assert said["denoise"] == ("flow" if name == "flow" else "mean")
        made[name] = path.read_bytes()
    assert made["default"] == made["mean"] != made["flow"]
    ring = tmp_path / "ring.safetensors"
    run("train", "--data", "ring", "-n", "50", *NET, "-q", "-o", ring)
    said = json.loads(run("generate", ring, "-n", 9, "--n-steps", 10, "--json", "-q", "-o",
                          tmp_path / "ring.npy"))
    assert said["denoise"] == "flow"


def test_a_picture_with_real_rows(images, model, tmp_path):
    path = tmp_path / "grid.png"
    run("generate", model, "-n", 6, "--columns", 3, "--real", images, "--label", 1, "--n-steps", 5,
        "-q", "-o", path)
    picture = read_png(path)
    scale = round(64 / HEIGHT)
    down, across = HEIGHT * scale + 2, WIDTH * scale + 2
    assert picture.shape == (4 * down + 2, 3 * across + 2)  # two rows of real, two of samples
    test = np.frombuffer((images / "t10k-images-idx3-ubyte").read_bytes()[16:], np.uint8)
    ones = test.reshape(-1, HEIGHT, WIDTH)[1::2]
    for line in range(2):
        for column in range(3):
            y, x = 2 + 2 * line * down, 2 + column * across
            shown = picture[y:y + HEIGHT * scale:scale, x:x + WIDTH * scale:scale]
            assert np.array_equal(shown, ones[3 * line + column])


@pytest.mark.parametrize("options, says", [
    (["--data", "ring", "--resize", "16"], "--resize is for images; --data is ring"),
    (["--data", "ring", "--dequantise"], "--dequantise is for images; --data is ring"),
    (["--data", "IMAGES", "-n", "9"], "-n is not for images"),
    (["--data", "IMAGES", "--held-out", "0.2"], "--held-out is not for images"),
    (["--data", "IMAGES", "--dequantise", "--binarize", "threshold"],
     "--dequantise and --binarize are both given"),
])
def test_refusals_of_train(images, tmp_path, options, says):
    options = [str(images) if word == "IMAGES" else word for word in options]
    assert says in run("train", *options, *NET, "-o", tmp_path / "m.safetensors", code=2)
    assert not (tmp_path / "m.safetensors").exists()


@pytest.mark.parametrize("options, says", [
    (["-o", "x.npy", "--columns", "3"], "--columns is for pictures of images"),
    (["-o", "x.npy", "--real", "mnist"], "--real is for pictures of images"),
])
def test_refusals_of_generate(model, tmp_path, options, says):
    options = [str(tmp_path / word) if word.startswith("x.") else word for word in options]
    assert says in run("generate", model, "-n", 4, *options, code=2)
