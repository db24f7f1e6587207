import { maxFormBytes, maxHeaderBytes, maxHeaders, maxTargetLength } from './request-limits.ts'

/** Text of an error: in JSON the message and the next step, in a browser a whole page. */
export interface ErrorText {
  status: number
  title: string
  message: string
  nextStep: string
}

/** Error codes that are not in the OAuth registry. */
export type HttpErrorCode =
  | 'unauthorized'
  | 'forbidden_origin'
  | 'forbidden_cookie'
  | 'access_denied'
  | 'misdirected_request'
  | 'not_found'
  | 'method_not_allowed'
  | 'unsupported_media_type'
  | 'content_too_large'
  | 'too_many_requests'
  | 'temporarily_unavailable'
  | 'server_error'

/** The texts of these errors. */
export const httpErrors: Readonly<Record<HttpErrorCode, ErrorText>> = {
  unauthorized: {
    status: 401,
    title: 'Sign-in required',
    message: 'This request has no access token.',
    nextStep: 'Sign in with OAuth; the WWW-Authenticate header says where to start.',
  },
  forbidden_origin: {
    status: 403,
    title: 'Origin not allowed',
    message: 'Web pages of this origin are not allowed to call this server.',
    nextStep: 'Add the origin to ALLOWED_ORIGINS if it is yours.',
  },
  forbidden_cookie: {
    status: 403,
    title: 'Session cookie not accepted',
    message: 'The session cookie is only accepted from scripts on trusted origins of the same site.',
    nextStep: 'Add the origin to ALLOWED_ORIGINS if it is yours, or send a bearer token.',
  },
  access_denied: {
    status: 403,
    title: 'Access denied',
    message: 'This account may not use this server.',
    nextStep: 'Ask the owner of the web app, or use another account.',
  },
  misdirected_request: {
    status: 421,
    title: 'Wrong host name',
    message: 'This server does not serve that host name.',
    nextStep: 'Use the host of BASE_URL. A reverse proxy must forward the Host header.',
  },
  not_found: {
    status: 404,
    title: 'Page not found',
    message: 'There is no page at this address.',
    nextStep: 'To connect an MCP client, use the address that ends in /mcp.',
  },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    message: 'This address does not support that HTTP method.',
    nextStep: 'Use a method listed in the Allow header.',
  },
  unsupported_media_type: {
    status: 415,
    title: 'Content type not supported',
    message: 'The content type of the message is not application/json in UTF-8.',
    nextStep: 'Send JSON with the header Content-Type: application/json, without any parameter.',
  },
  content_too_large: {
    status: 413,
    title: 'Message too large',
    message: 'The message is larger than 4 MiB.',
    nextStep: 'Send a smaller message.',
  },
  too_many_requests: {
    status: 429,
    title: 'Too many failed requests',
    message: 'Too many requests from your address failed.',
    nextStep: 'Wait as many seconds as Retry-After says, and check the earlier error messages.',
  },
  temporarily_unavailable: {
    status: 503,
    title: 'Temporarily unavailable',
    message: 'A service that this server depends on cannot be reached. Nothing is lost.',
    nextStep: 'Try again after as many seconds as Retry-After says.',
  },
  server_error: {
    status: 500,
    title: 'Something went wrong',
    message: 'The server could not process this request.',
    nextStep: 'Try again. If it happens again, report the request ID from the X-Request-Id header.',
  },
}

/** Faults that any request can have. */
type RequestFaultName =
  | 'malformed'
  | 'target_invalid'
  | 'host_not_once'
  | 'too_slow'
  | 'body_too_large'
  | 'target_too_long'
  | 'body_no_form'
  | 'body_no_json'
  | 'body_encoded'
  | 'expectation'
  | 'headers_too_many'
  | 'headers_too_large'
  | 'method_unknown'
  | 'transfer_coding'
  | 'proxy'
  | 'version'

/** The response to a malformed request; the code is always `invalid_request`. */
export interface RequestFault {
  status: number
  description: string
}

/** All request faults, ordered by status. */
export const requestFaults: Readonly<Record<RequestFaultName, RequestFault>> = {
  malformed: { status: 400, description: 'This is not a valid HTTP request.' },
  target_invalid: { status: 400, description: 'The host or the path is not valid.' },
  host_not_once: { status: 400, description: 'Send exactly one Host header.' },
  too_slow: { status: 408, description: 'The request did not arrive in time. Try again.' },
  body_too_large: {
    status: 413,
    description: `The body is larger than ${maxFormBytes} bytes. Send a smaller one.`,
  },
  target_too_long: {
    status: 414,
    description: `The URL is longer than ${maxTargetLength} bytes. Send a shorter one.`,
  },
  body_no_form: { status: 415, description: 'Send the body as application/x-www-form-urlencoded.' },
  body_no_json: { status: 415, description: 'Send the body as application/json.' },
  body_encoded: { status: 415, description: 'Send the body without a Content-Encoding.' },
  expectation: { status: 417, description: 'The only supported expectation is 100-continue.' },
  headers_too_many: { status: 431, description: `There are more than ${maxHeaders} headers. Send fewer.` },
  headers_too_large: {
    status: 431,
    description: `The headers are larger than ${maxHeaderBytes} bytes. Clear old cookies and try again.`,
  },
  method_unknown: { status: 501, description: 'This method is not supported.' },
  transfer_coding: { status: 501, description: 'The only supported transfer coding is chunked.' },
  proxy: { status: 501, description: 'This server is not a proxy.' },
  version: { status: 505, description: 'The supported versions are HTTP/1.1 and HTTP/1.0.' },
}
