/** All headers of one request: a session cookie may be 128 KiB, and Node's default refuses it at six chunks. */
export const maxHeaderBytes: number = 144 * 1024

/** Header lines of one request. A browser behind two proxies sends forty. */
export const mostHeaders = 200

/** RFC 9110 section 4.1 asks for 8000 at least; an authorization request carries its state in the URL. */
export const longestTarget: number = 16 * 1024

/** Enough for any form or registration that a client sends. */
export const maxFormBytes: number = 64 * 1024

/** What can be wrong with a request, whatever it asks for. */
export type RequestFaultName =
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

/** What a refusal for its form says, always as `invalid_request`. */
export interface RequestFault {
  status: number
  description: string
}

/** Every fault of form, in the order of their statuses. */
export const requestFaults: Readonly<Record<RequestFaultName, RequestFault>> = {
  malformed: { status: 400, description: 'This is not a valid HTTP request.' },
  target_invalid: { status: 400, description: 'Host or path are not valid.' },
  host_not_once: { status: 400, description: 'Send one Host header.' },
  too_slow: { status: 408, description: 'The request did not arrive in time.' },
  body_too_large: { status: 413, description: `The body is larger than ${maxFormBytes} bytes.` },
  target_too_long: { status: 414, description: `The address is longer than ${longestTarget} bytes.` },
  body_no_form: { status: 415, description: 'Send the body as application/x-www-form-urlencoded.' },
  body_no_json: { status: 415, description: 'Send the body as application/json.' },
  body_encoded: { status: 415, description: 'Send the body without a Content-Encoding.' },
  expectation: { status: 417, description: 'Of all expectations only 100-continue is met.' },
  headers_too_many: { status: 431, description: `There are more than ${mostHeaders} headers.` },
  headers_too_large: {
    status: 431,
    description: `The headers are larger than ${maxHeaderBytes} bytes. Clear old cookies and try again.`,
  },
  method_unknown: { status: 501, description: 'This method is not implemented.' },
  transfer_coding: { status: 501, description: 'Of the transfer codings only chunked is implemented.' },
  proxy: { status: 501, description: 'This is no proxy.' },
  version: { status: 505, description: 'Of all versions HTTP/1.1 and HTTP/1.0 are implemented.' },
}
