// WeirCurl
