import Foundation
import FoundationNetworking
import Testing

@testable import Weir

@Suite("§21 Compressors of uploads")
struct UploadCompressorTests {
  private static func coded(
    _ interceptor: any RequestInterceptor, _ encoding: String? = nil, data: Data? = nil
  ) throws -> (RequestCoding?, String?) {
    var types = InterceptorTypes()
    var request = try URLRequest(url: "http://h/", method: .post)
    if let encoding { request.headers = ["Content-Encoding": encoding] }
    let coding = try types.adapters(of: interceptor).codeUpload(&request, data: data)
    return (coding, request.headers["Content-Encoding"])
  }

  @Test("Those that are asked for it compress uploads, and say so")
  func asked() throws {
    #expect(try Self.coded(.deflateCompressor) == (nil, nil))
    #expect(try Self.coded(.gzipCompressor) == (nil, nil))
    #expect(try Self.coded(.deflateCompressor(compressesUploads: true)) == (.deflate, "deflate"))
    #expect(try Self.coded(.gzipCompressor(compressesUploads: true)) == (.gzip, "gzip"))
    #expect(try Self.coded(RetryPolicy()) == (nil, nil))
  }

  @Test("They are found in lists of lists")
  func found() throws {
    let inner = Interceptor(
      adapters: [Interception.setting("a", "b")], interceptors: [.gzipCompressor(compressesUploads: true)])
    let outer = Interceptor(interceptors: [RetryPolicy(), inner, .deflateCompressor])
    #expect(try Self.coded(outer) == (.gzip, "gzip"))
  }

  @Test("The closure is asked about bodies in memory only")
  func closure() throws {
    let compressor = GzipRequestCompressor(compressesUploads: true) { $0.count > 3 }
    #expect(try Self.coded(compressor, data: Data(count: 3)) == (nil, nil))
    #expect(try Self.coded(compressor, data: Data(count: 4)) == (.gzip, "gzip"))
    #expect(try Self.coded(compressor, data: nil) == (.gzip, "gzip"))
  }

  @Test("A Content-Encoding that is there already")
  func duplicates() throws {
    #expect(throws: DeflateRequestCompressor.DuplicateHeaderError.self) {
      try Self.coded(.gzipCompressor(compressesUploads: true), "br")
    }
    #expect(
      try Self.coded(.gzipCompressor(duplicateHeaderBehavior: .skip, compressesUploads: true), "br") == (nil, "br"))
    #expect(
      try Self.coded(.gzipCompressor(duplicateHeaderBehavior: .replace, compressesUploads: true), "br")
        == (.gzip, "gzip"))
    #expect(try Self.coded(.gzipCompressor, "br") == (nil, "br"), "it is not asked")
  }

  @Test("Of several one compresses")
  func several() throws {
    func chain(_ behavior: DeflateRequestCompressor.DuplicateHeaderBehavior) -> Interceptor {
      Interceptor(interceptors: [
        .gzipCompressor(compressesUploads: true),
        .deflateCompressor(duplicateHeaderBehavior: behavior, compressesUploads: true),
      ])
    }
    #expect(try Self.coded(chain(.skip)) == (.gzip, "gzip"))
    #expect(try Self.coded(chain(.replace)) == (.deflate, "deflate"))
    #expect(throws: DeflateRequestCompressor.DuplicateHeaderError.self) { try Self.coded(chain(.error)) }
  }
}
