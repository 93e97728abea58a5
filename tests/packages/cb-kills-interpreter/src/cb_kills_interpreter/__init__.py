"""A module that ends the process with the code of success, which no except can stop."""

import os

os._exit(0)
