"""Certificates of a test authority, made with openssl."""
import subprocess
import time


class Authority:
    """ca = Authority(folder); cert, key = ca.issue("server"); ca.file"""

    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.file, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-days", "2", "-subj", f"/CN=test {name}", "-out", self.file,
                "-keyout", self.key,
                # RFC 5280 4.2.1.3 requires it in a CA certificate; Python 3.13 refuses
                # one without
                "-addext", "keyUsage = critical, keyCertSign, cRLSign")

    def issue(self, name, subject="IP:127.0.0.1", expired=False, purpose=None, seconds=0):
        """@param seconds  it expires so many from now; 0: in a day
        @param purpose  extended key usage; None: the certificate has none
        @return (certificate file, key file)"""
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName = {subject}\nauthorityKeyIdentifier = keyid\n" +
                              (f"extendedKeyUsage = {purpose}\n" if purpose else ""))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-out", request, "-keyout", key)
        openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key,
                "-set_serial", str(abs(hash(name)) % 2**32 + 1), "-extfile", extensions,
                "-out", cert, "-days", "1")
        if expired:
            self.sign(request, extensions, cert, "-startdate", "20200101000000Z",
                      "-enddate", "20210101000000Z")
        if seconds:
            self.sign(request, extensions, cert, "-startdate", stamp(-60),
                      "-enddate", stamp(seconds))
        key.chmod(0o600)
        return cert, key

    def below(self, name):
        """An authority that this one has certified. Its file has its certificate alone."""
        made = object.__new__(Authority)
        made.folder = self.folder
        made.file, made.key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text("basicConstraints = critical, CA:TRUE\nkeyUsage = critical, keyCertSign, cRLSign\n"
                              "subjectKeyIdentifier = hash\nauthorityKeyIdentifier = keyid\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-out", request, "-keyout", made.key)
        openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key,
                "-set_serial", str(abs(hash(name)) % 2**32 + 1), "-extfile", extensions,
                "-out", made.file, "-days", "1")
        return made

    def chain(self, name, length, **more):
        """issue(), by an authority so far below that the file has `length` certificates: that of NAME,
        and those of the authorities between."""
        between, signer = [], self
        for i in range(length - 1):
            signer = signer.below(f"{name}-authority-{i}")
            between.insert(0, signer.file.read_text())
        cert, key = signer.issue(name, **more)
        cert.write_text(cert.read_text() + "".join(between))
        return cert, key

    def sign(self, request, extensions, cert, *dates):
        """Sign it again, with these dates.

        OpenSSL 3.5 refuses a negative number of days, and OpenSSL 3.0 accepts dates
        only in "openssl ca"."""
        settings = self.folder / "dates.conf"
        settings.write_text(
            f"[ca]\ndefault_ca = dates\n[dates]\ndatabase = {settings}.db\n"
            f"new_certs_dir = {self.folder}\nrand_serial = yes\ndefault_md = sha256\n"
            "policy = any\nunique_subject = no\n[any]\ncommonName = supplied\n")
        (self.folder / "dates.conf.db").write_text("")
        openssl("ca", "-batch", "-config", settings, "-in", request, "-cert", self.file,
                "-keyfile", self.key, "-extfile", extensions, "-out", cert, "-notext",
                *dates)


def stamp(seconds):
    """The time in so many seconds, as certificates have it."""
    return time.strftime("%Y%m%d%H%M%SZ", time.gmtime(time.time() + seconds))


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
