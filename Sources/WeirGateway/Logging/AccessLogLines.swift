extension Logger {
  /// Warns of lines of the access log that are lost.
  func warn(of notice: AccessLogNotices.Notice) {
    warn("lines of the access log are lost", ["count": .integer(notice.count), "reason": .string(notice.reason)])
  }
}
