"""Names of members of the standard library, Foundation and Dispatch that members of this project share.

If a receiver's type is unknown, such a name does not identify the member. If the check reports a wrong use, because a library's
member has the name of one of ours, add the name here.
"""

COMMON = set(
    """
    add adding address addresses advanced age all allCredentials allSatisfy allow allowed any append appending
    applying array async automatic base base64 between block bool buffer busy bytes cache callAsFunction cancel
    canceling cancelled capacity capitalized client clientCertificateRequired close closed code codingPath colon
    combine common complete completed configuration constant container contains contents control convertToSnakeCase
    cookies copy copyBytes count countOfBytesExpectedToReceive countOfBytesExpectedToSend countOfBytesReceived
    countOfBytesSent create credentials current currentRequest custom customMirror data dataTask date day days
    debugDescription decimal decode default defaultCredential deferredToData deferredToDate delegate delete
    deleteCookie description detach dictionary digit directory discard distantFuture domain double download drop
    duration eager element elements empty encode encodeIfPresent encodeNil end endIndex enqueue enter environment
    ephemeral error errorDescription escaped exchange exit expires explicit extend failure failureResponse familyName
    file fileManager fileSize fileURL finish finished first firstIndex float flush forEach format formatted forward
    free full get handle hash header hexadecimal high host httpAdditionalHeaders httpBody httpCookieAcceptPolicy
    httpCookieStorage httpMaximumConnectionsPerHost httpMethod httpShouldSetCookies https id identity index indices
    input insert intValue integer internalError interval invalid invalidateAndCancel isAtEnd isCancelled isDirectory
    isEmpty isFileError isFinished isFull isHTTPOnly isLetter isNull isPaused isReady isReusedConnection isRunning
    isSecure isSupported isSuspended isValid iso8601 joined key keys kind label last lazy leave left length letter
    level list literal load localAddress localPort lock log low lowercased makeAsyncIterator makeIterator map mapError
    mask matches maximum measure memory merge metric milliseconds millisecondsSince1970 minimum month months move name
    names nanoseconds nestedContainer nestedUnkeyedContainer networkProtocolName next none normalized now null number
    numeric object offset omitted onTermination one open options order origin originalRequest other output overflow
    overlay padding parse password path paths pause perform plain pointer popFirst port post prefix prettyPrinted
    previousFailureCount progress proposedCredential protectionSpace query random range rawValue read realm receive
    receiving redirectCount register regular release remoteAddress remotePort remove removeAll rename replace
    replacing request requestCachePolicy reset response result resume root rotate run running scale schedule scheme
    second seconds secondsSince1970 seek seekToEnd send sequence set setCookie shared short singleValueContainer size
    socket sort sorted sortedKeys space standard start startDate startIndex starts state statusCode stop storagePolicy
    store stream string stringValue style success sum superEncoder suspend suspended swap symbolicLink sync system
    take task taskIdentifier taskInterval terminate text time timedOut timeoutIntervalForRequest
    timeoutIntervalForResource tls tolerance truncate type underlyingError underlyingQueue unkeyedContainer unknown
    unsupportedURL update upload uppercased url urlCache urlCredentialStorage urlSession urls use useDefaultKeys user
    userInfo value values variant version wait width words wrapped write year yield
    """.split()
)
