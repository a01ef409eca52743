// SPDX-License-Identifier: Apache-2.0
/// Authorities and certificates, made for one test by the program openssl.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "src/net/tls/tls_settings.h"

namespace weir::testing {

/// Whether the program is there.
inline bool has_openssl_program() { return std::system("openssl version >/dev/null 2>&1") == 0; }

/// Certificates in a folder that is removed with the object.
class TestCertificates {
 public:
  TestCertificates() {
    std::string name = (std::filesystem::temp_directory_path() / "weir-tls-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) folder_ = name;
  }
  ~TestCertificates() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

  std::string file(const std::string& name) const { return folder_ + "/" + name; }

  bool make_authority(const std::string& name) const {
    return run("req -x509 " + new_key(name) + " -out " + file(name + ".pem") + " -days 2");
  }
  /// `days`: negative for one that has expired. `more`: further words for `openssl x509`.
  bool issue(const std::string& name, const std::string& authority, int days = 2,
             const std::string& more = "") const {
    return run("req " + new_key(name) + " -out " + file(name + ".csr")) &&
           run("x509 -req -in " + file(name + ".csr") + " -CA " + file(authority + ".pem") + " -CAkey " +
               file(authority + ".key") + " -set_serial 1 -days " + std::to_string(days) + " -out " +
               file(name + ".pem") + " " + more);
  }
  bool run(const std::string& words) const {
    return std::system(("openssl " + words + " </dev/null >/dev/null 2>&1").c_str()) == 0;
  }

  /// The settings of a process that shows `name` and trusts `authority`.
  TlsSettings settings(const std::string& name, const std::string& authority) const {
    TlsSettings settings;
    settings.mode = TlsSettings::Mode::cert;
    settings.certificate_file = file(name + ".pem");
    settings.key_file = file(name + ".key");
    settings.authority_file = file(authority + ".pem");
    return settings;
  }

 private:
  std::string new_key(const std::string& name) const {
    return "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout " + file(name + ".key") +
           " -subj /CN=" + name;
  }

  std::string folder_;
};

}  // namespace weir::testing
