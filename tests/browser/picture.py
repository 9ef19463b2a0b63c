"""The picture at the top of the README: a stepper in JupyterLab, of a run that really happened.

    python -m tests.browser.picture     writes notebooks/images/stepper.png

Needs a browser, and a font for the Chinese sample text (on Debian, fonts-noto-cjk).
"""

import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

from tests.browser import lab as driver
from tests.browser.lab import ROOT, Guard, Lab, Steps

PICTURE = ROOT / "notebooks" / "images" / "stepper.png"
MAX_BYTES = 120_000
CELLS = (
    """
from scripted_model import *
from scripted_model.show import stepper
import re
def pieces(said): return re.findall(".{1,9}", said)
model = ScriptedModel([assistant_message(
    [text("先看"), tool_call("c1", "read", {"path": "README.md"})], "toolUse")], chunk=pieces)
stream = model.stream(AgentContext([user_message("请求一")]))
await stream.result()
""",
    "stepper(stream)",
)
SHOWN = 4


def draw(path: str) -> bytes:
    """The stepper as the browser draws it, two points for one, in a few colours."""
    with tempfile.TemporaryDirectory() as folder, driver.browser(path) as browser:
        place = Path(folder)
        with driver.server(place / "lab") as address:
            context = browser.new_context(
                viewport={"width": 1240, "height": 1000}, device_scale_factor=2
            )
            guard = Guard(context)
            lab = Lab(context.new_page(), address, place / "lab" / "files")
            lab.load()
            lab.command("application:toggle-left-area")
            lab.make(*CELLS)
            lab.run_all()
            steps = Steps(lab.page.locator(".scripted-model-stepper"))
            for _ in range(SHOWN - 1):
                steps.click("one event forward")
            steps.wait_for(f"event {SHOWN} of")
            lab.page.mouse.move(0, 0)
            lab.page.evaluate("document.activeElement.blur()")
            drawn = steps.view.screenshot(animations="disabled")
            lab.close()
            guard.assert_quiet()
            context.close()
    written = io.BytesIO()
    picture = Image.open(io.BytesIO(drawn)).convert("RGB")
    picture.quantize(64, dither=Image.Dither.NONE).save(written, "PNG", optimize=True)
    return written.getvalue()


def main() -> int:
    path = driver.browser_path()
    if path is None:
        print("No Chromium, Chrome or Edge was found; BROWSER_PATH names one.", file=sys.stderr)
        return 1
    picture = draw(path)
    if len(picture) > MAX_BYTES:
        print(f"The picture has {len(picture):,} bytes: too many.", file=sys.stderr)
        return 1
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_bytes(picture)
    print(f"{PICTURE.relative_to(ROOT)}: {len(picture):,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
