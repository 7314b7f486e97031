/// The cause of a failed transfer in Foundation's terms: names and numbers are those of its `URLError.Code`.
package enum FailureCode: Int, CaseIterable, Sendable {
  case unknown = -1
  case backgroundSessionRequiresSharedContainer = -995
  case backgroundSessionInUseByAnotherProcess = -996
  case backgroundSessionWasDisconnected = -997
  case cancelled = -999
  case badURL = -1000
  case timedOut = -1001
  case unsupportedURL = -1002
  case cannotFindHost = -1003
  case cannotConnectToHost = -1004
  case networkConnectionLost = -1005
  case dnsLookupFailed = -1006
  case httpTooManyRedirects = -1007
  case resourceUnavailable = -1008
  case notConnectedToInternet = -1009
  case redirectToNonExistentLocation = -1010
  case badServerResponse = -1011
  case userCancelledAuthentication = -1012
  case userAuthenticationRequired = -1013
  case zeroByteResource = -1014
  case cannotDecodeRawData = -1015
  case cannotDecodeContentData = -1016
  case cannotParseResponse = -1017
  case internationalRoamingOff = -1018
  case callIsActive = -1019
  case dataNotAllowed = -1020
  case requestBodyStreamExhausted = -1021
  case appTransportSecurityRequiresSecureConnection = -1022
  case fileDoesNotExist = -1100
  case fileIsDirectory = -1101
  case noPermissionsToReadFile = -1102
  case dataLengthExceedsMaximum = -1103
  case secureConnectionFailed = -1200
  case serverCertificateHasBadDate = -1201
  case serverCertificateUntrusted = -1202
  case serverCertificateHasUnknownRoot = -1203
  case serverCertificateNotYetValid = -1204
  case clientCertificateRejected = -1205
  case clientCertificateRequired = -1206
  case cannotLoadFromNetwork = -2000
  case cannotCreateFile = -3000
  case cannotOpenFile = -3001
  case cannotCloseFile = -3002
  case cannotWriteToFile = -3003
  case cannotRemoveFile = -3004
  case cannotMoveFile = -3005
  case downloadDecodingFailedMidStream = -3006
  case downloadDecodingFailedToComplete = -3007

  /// The code's name in snake case, fit for a metric: `cannot_find_host`.
  package var label: String {
    var label = ""
    var isAfterCapital = true
    for scalar in "\(self)".unicodeScalars {
      let isCapital = scalar.properties.isUppercase
      if isCapital, !isAfterCapital { label += "_" }
      label += scalar.properties.lowercaseMapping
      isAfterCapital = isCapital
    }
    return label
  }

  /// Whether a local file failed that was to be read, written or moved.
  package var isFileError: Bool {
    switch self {
    case .cannotCreateFile, .cannotOpenFile, .cannotCloseFile, .cannotWriteToFile, .cannotRemoveFile,
      .cannotMoveFile, .fileDoesNotExist, .fileIsDirectory, .noPermissionsToReadFile:
      true
    default: false
    }
  }
}
