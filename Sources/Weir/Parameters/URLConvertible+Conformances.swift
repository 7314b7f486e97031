extension String: URLConvertible {
  public func asURL() throws -> URL {
    guard let url = URL(text: self) else { throw WeirError.invalidURL(url: self) }
    return url
  }
}

extension URLComponents: URLConvertible {
  public func asURL() throws -> URL {
    guard let url else { throw WeirError.invalidURL(url: self) }
    return url
  }
}
