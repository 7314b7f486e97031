import Synchronization
import WeirHTTP

/// One part of a form as it was appended.
struct MultipartPart: Sendable {
  enum Body: Sendable {
    case data(Data)
    case file(MultipartFile)
    case stream(MultipartStream)
  }

  /// The header fields, with the empty line after them.
  let head: [UInt8]
  let body: Body
  /// The number of bytes that the body must have.
  let length: UInt64
}

/// The header fields of a part.
struct MultipartHead {
  private let fields: HTTPHeaders

  init(_ fields: HTTPHeaders) {
    self.fields = fields
  }

  init(name: String, fileName: String?, mimeType: String?) {
    var disposition = "form-data; name=\"\(Self.escaped(name))\""
    if let fileName { disposition += "; filename=\"\(Self.escaped(fileName))\"" }
    var fields = HTTPHeaders([.contentDisposition(disposition)])
    if let mimeType { fields.add(.contentType(mimeType)) }
    self.init(fields)
  }

  /// The first field that would not stay on its line or has no valid name.
  var invalidField: String? {
    fields.first { !FieldSyntax.isToken($0.name) || !FieldSyntax.isSendable($0.value) }?.name
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for field in fields { bytes += "\(field.name): \(field.value)\r\n".utf8 }
    return bytes + "\r\n".utf8
  }

  /// Escapes as browsers do (WHATWG HTML, multipart/form-data encoding algorithm). It goes through the scalars, since
  /// CR LF is a single character. NUL is escaped too: it is not allowed in a field, and ends the text for some parsers.
  private static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: { $0.isLineBreak || $0 == 0 || $0 == UInt8(ascii: "\"") }) else { return text }
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": escaped += "%22"
      case "\r": escaped += "%0D"
      case "\n": escaped += "%0A"
      case "\0": escaped += "%00"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}

/// A stream that was handed over to a form; only the first encoding of the form can read it.
final class MultipartStream: Sendable {
  /// An `InputStream` may be used by one thread at a time. The form's only reference is in the lock; `take` empties it
  /// and so gives the stream to one caller only. The user may have other references, and is told not to use them.
  private struct Handed: @unchecked Sendable {
    let stream: InputStream
  }

  private let handed: Mutex<Handed?>

  init(_ stream: InputStream) {
    handed = Mutex(Handed(stream: stream))
  }

  /// The stream on the first call, nil on any other.
  func take() -> InputStream? {
    let taken = handed.withLock { handed in
      defer { handed = nil }
      return handed
    }
    return taken?.stream
  }
}

extension UInt64 {
  /// The sum, or the greatest number if it overflows: declared lengths may be any number.
  func saturatingAdd(_ other: UInt64) -> UInt64 {
    let (sum, isTooLarge) = addingReportingOverflow(other)
    return isTooLarge ? .max : sum
  }
}

/// The media types of files by the extensions of their names (IANA registry of media types).
enum MediaType {
  /// The type for unknown bytes (RFC 2046 section 4.5.1).
  private static let unknown = "application/octet-stream"

  /// The media type for a name's extension, which is compared case-insensitively.
  static func ofFile(withExtension name: String) -> String {
    known[name.lowercased()] ?? unknown
  }

  private static let known = [
    "7z": "application/x-7z-compressed", "aac": "audio/aac", "apk": "application/vnd.android.package-archive",
    "avi": "video/x-msvideo", "avif": "image/avif", "bmp": "image/bmp", "bz2": "application/x-bzip2",
    "css": "text/css", "csv": "text/csv", "doc": "application/msword",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "eot": "application/vnd.ms-fontobject", "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif",
    "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif", "htm": "text/html", "html": "text/html",
    "ico": "image/vnd.microsoft.icon", "ics": "text/calendar", "jar": "application/java-archive", "jp2": "image/jp2",
    "jpeg": "image/jpeg", "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json",
    "jsonl": "application/jsonl", "m4a": "audio/mp4", "m4v": "video/x-m4v", "md": "text/markdown",
    "mid": "audio/midi", "midi": "audio/midi", "mjs": "text/javascript", "mkv": "video/x-matroska",
    "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
    "odp": "application/vnd.oasis.opendocument.presentation", "ods": "application/vnd.oasis.opendocument.spreadsheet",
    "odt": "application/vnd.oasis.opendocument.text", "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg",
    "opus": "audio/ogg", "otf": "font/otf", "pdf": "application/pdf", "png": "image/png",
    "ppt": "application/vnd.ms-powerpoint",
    "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "ps": "application/postscript", "rtf": "application/rtf", "svg": "image/svg+xml", "tar": "application/x-tar",
    "tgz": "application/gzip", "tif": "image/tiff", "tiff": "image/tiff", "ts": "video/mp2t",
    "tsv":
      "text/tab-separated-values", "ttf": "font/ttf", "txt": "text/plain", "vcf": "text/vcard",
    "wasm": "application/wasm", "wav": "audio/wav", "weba": "audio/webm", "webm": "video/webm", "webp": "image/webp",
    "woff": "font/woff", "woff2": "font/woff2", "xhtml": "application/xhtml+xml", "xls": "application/vnd.ms-excel",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
    "xz": "application/x-xz", "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip",
    "zst": "application/zstd",
  ]
}
