"""Certificates of a test authority, made with openssl."""
import subprocess


class Authority:
    """ca = Authority(folder); cert, key = ca.issue("server"); ca.file"""

    def __init__(self, folder, name="ca"):
        self.folder = folder
        self.file, self.key = folder / f"{name}.pem", folder / f"{name}.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-days", "2", "-subj", f"/CN=test {name}", "-out", self.file,
                "-keyout", self.key)

    def issue(self, name, subject="IP:127.0.0.1", expired=False):
        """@return (certificate file, key file)"""
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request, extensions = self.folder / f"{name}.csr", self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName = {subject}\n")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={name}", "-out", request, "-keyout", key)
        openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key,
                "-set_serial", str(abs(hash(name)) % 2**32 + 1), "-extfile", extensions,
                "-out", cert, "-days", "-1" if expired else "1")
        key.chmod(0o600)
        return cert, key


def openssl(*arguments):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)
