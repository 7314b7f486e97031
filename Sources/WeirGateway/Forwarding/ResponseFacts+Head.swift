import WeirCompression
import WeirHTTP
import WeirServer

extension ResponseFacts {
  init(_ head: some FieldSource, status: Int, isToHead: Bool, isToHTTP10: Bool, _ rules: CompressionRules) {
    self.init(status: status, isToHead: isToHead, isToHTTP10: isToHTTP10)
    var framing = Reframing()
    var hasType = false
    head.forEach { name, value in
      switch name.count {
      case 12 where name.spells("content-type") && !hasType:
        hasType = true
        isOfTypes = rules.compressesResponses && rules.compresses(type: value)
      case 13 where name.spells("content-range"): hasRange = true
      case 13 where name.spells("cache-control"): forbidsChanges = forbidsChanges || value.forbidsChanges
      case 14, 17: framing.note(name, value)
      case 16 where name.spells("content-encoding"): codings = Self.join(codings, ContentCoding.list(value))
      default: break
      }
    }
    length = framing.bodyLength(status: status, isHead: isToHead)
  }
}
