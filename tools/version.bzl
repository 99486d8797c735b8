"""The version of the packages; ocannl/core/version.h has the same."""

VERSION = "0.9.5"
