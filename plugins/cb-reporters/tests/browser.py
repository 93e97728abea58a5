"""A browser to look at pages with: Debian's chromium, without a window."""

from __future__ import annotations

import contextlib
import json
import shutil

import pytest

WAIT_S = 20


class Browser:
    """Opens pages, and remembers what they asked for and complained about."""

    def __init__(self, driver):
        self.driver = driver

    def open(self, address, *, ready=True):
        """Load a page anew, and wait until its examples can be explored."""
        self.driver.get("about:blank")
        self.complaints()
        self.requests()
        self.driver.get(address)
        if ready:
            self.until("return document.documentElement.dataset.ready !== undefined")

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, script, *arguments):
        """Wait until a script returns something true, and return that."""
        from selenium.webdriver.support.wait import WebDriverWait

        wait = WebDriverWait(self.driver, WAIT_S, poll_frequency=0.02)
        return wait.until(lambda driver: driver.execute_script(script, *arguments), script)

    def texts(self, selector):
        """What is written in every element that fits, as it is shown."""
        text = "e => e.innerText ?? e.textContent"
        script = f"return Array.from(document.querySelectorAll(arguments[0]), {text})"
        return self.run(script, selector)

    def sections(self):
        """The parts of the page, in the order they stand."""
        return self.run("return Array.from(document.querySelectorAll('main > section'), s => s.id)")

    def find(self, selector):
        from selenium.webdriver.common.by import By

        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def choose(self, name, value):
        """Pick a value of a filter, as a reader does, and wait for what is found."""
        self.run(
            "const field = document.querySelector(`.filters [name=${arguments[0]}]`);"
            "if (field.type === 'checkbox') field.checked = arguments[1];"
            "else field.value = arguments[1];"
            "document.querySelector('.told').textContent = '…';"
            "field.dispatchEvent(new Event('change', {bubbles: true}))",
            *(name, value),
        )
        self.settled()

    def follow(self, place):
        """Go to another place of the same page, as a link in it does."""
        self.run("document.querySelector('.told').textContent = '…'")
        self.run("location.hash = '#x=' + Math.random()")
        self.settled()
        self.run("document.querySelector('.told').textContent = '…'")
        self.run("location.hash = arguments[0]", f"#{place}")
        self.settled()

    def settled(self):
        """Wait until the list shows what was asked for."""
        self.until("return document.querySelector('.told').textContent !== '…'")

    def keys(self, *keys):
        """Press keys, wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()

    def listed(self):
        """The ids in the list."""
        return self.texts(".examples tbody a")

    def complaints(self):
        """What the page wrote to the console since it was last asked."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """The addresses that were asked for since this was last called."""
        found = []
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    @contextlib.contextmanager
    def looking(self, *, width=1400, height=1000, scheme="light", media=""):
        """With another window, theme or medium."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        cdp = self.driver.execute_cdp_cmd
        cdp("Emulation.setDeviceMetricsOverride", size)
        cdp("Emulation.setEmulatedMedia", {"media": media, "features": features})
        try:
            yield
        finally:
            cdp("Emulation.clearDeviceMetricsOverride", {})
            cdp("Emulation.setEmulatedMedia", {"media": "", "features": []})


@contextlib.contextmanager
def started():
    """A browser; the test is skipped, with the reason, where there is none."""
    pytest.importorskip("selenium", reason="no selenium: install requirements-dev.txt")
    chromium, driver_path = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver_path is None:
        pytest.skip("no chromium or chromedriver: apt-get install chromium chromium-driver")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "disable-gpu"):
        options.add_argument(f"--{argument}")
    options.add_argument("--force-prefers-reduced-motion")  # a page that scrolls cannot be clicked
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        yield Browser(driver)
    finally:
        driver.quit()
