import WeirCompression
import WeirCurl
import WeirExporter
import WeirResolver
import WeirTLS

extension Program {
  /// The text of `weir --version`: this build in the first line, then the libraries that the process has loaded, and the
  /// compiler.
  static var version: String {
    let build = BuildInfo.current
    let tls = CurlLibrary.tls.isEmpty ? "" : " (\(CurlLibrary.tls))"
    return """
      weir \(build.version) (revision \(build.revision))
      libcurl \(build.libcurl)\(tls)
      OpenSSL \(OpenSSLLibrary.version)
      c-ares \(AresLibrary.version)
      zlib \(ZlibLibrary.version)
      libyaml \(YAMLLibrary.version)
      Swift \(build.swift)

      """
  }
}
