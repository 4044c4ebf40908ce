"""Starts the program that the wheel carries. The source package has none: there `lynxbench` is what `make install` put into PATH."""

import os
import sys

# Where distributions keep their certificates: the TLS library that the wheel carries knows Debian's place only.
CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)


def path():
    """The program's path in this package, or None."""
    found = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "lynxbench")
    return found if os.access(found, os.X_OK) else None


def main():
    program = path()
    if program is None:
        sys.exit("lynxbench: this package carries no program; build it from the source tree: make install")
    if not ("SSL_CERT_FILE" in os.environ or "SSL_CERT_DIR" in os.environ):
        for certificates in CERTIFICATES:
            if os.path.exists(certificates):
                os.environ["SSL_CERT_FILE"] = certificates
                break
    os.execv(program, ["lynxbench", *sys.argv[1:]])
