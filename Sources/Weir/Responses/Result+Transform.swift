extension Result {
  var success: Success? {
    guard case .success(let value) = self else { return nil }
    return value
  }

  var failure: Failure? {
    guard case .failure(let error) = self else { return nil }
    return error
  }

  func tryMap<New>(_ transform: (Success) throws -> New) -> Result<New, any Error> {
    switch self {
    case .success(let value): Result<New, any Error> { try transform(value) }
    case .failure(let error): .failure(error)
    }
  }

  func tryMapError<New: Error>(_ transform: (Failure) throws -> New) -> Result<Success, any Error> {
    switch self {
    case .success(let value):
      return .success(value)
    case .failure(let error):
      do {
        return .failure(try transform(error))
      } catch {
        return .failure(error)
      }
    }
  }
}
