extension Logger {
  /// Logs the outcome of new content in a listener's TLS files.
  func note(_ event: TLSFilesWatch.Event, listener: String) {
    switch event {
    case .followed: info("the TLS files have changed, and new connections follow them", ["listener": .string(listener)])
    case .refused(let problem):
      warn(
        "the TLS files have changed and can't be used; TLS stays as it was",
        ["listener": .string(listener), "problem": .string(problem)])
    }
  }
}
