import { exitCode, type FailureRow } from './command-failure.ts'
import type { NetworkFault } from '../../http/http-client.ts'
import type { BodyError } from '../../http/read-body.ts'
import type { TransportFault } from '../../transport/transport.ts'

const { failed, signInNeeded, unreachable } = exitCode
const doctor = 'drawbridge doctor {url}'

/** No response, or half of one. */
export const networkFailures: Readonly<Record<`network_${NetworkFault}`, FailureRow>> = {
  network_dns: {
    meaning: 'The host name has no address here.',
    nextStep:
      'Check the host name in the URL and the connection of this computer; behind a proxy, set --proxy.',
    exit: unreachable,
  },
  network_refused: {
    meaning: 'Nothing listens at that host and port.',
    nextStep: 'Start the server, or correct the port in the URL.',
    exit: unreachable,
  },
  network_unreachable: {
    meaning: 'There is no route to that host.',
    nextStep: 'Check the network or the VPN of this computer; where IPv6 is broken, add --ipv4.',
    exit: unreachable,
  },
  network_tls: {
    meaning: 'The certificate is not trusted, or is not for that host, or the TLS versions do not meet.',
    nextStep: `For a private authority add --ca FILE. What is wrong with it: ${doctor}`,
    exit: unreachable,
  },
  network_proxy: {
    meaning: 'The proxy cannot be reached, or does not let the connection through.',
    nextStep:
      'Correct it where it is set (--proxy, HTTPS_PROXY, HTTP_PROXY or ALL_PROXY), or go straight with --no-proxy.',
    exit: unreachable,
  },
  network_connect_timeout: {
    meaning: 'No connection within the limit.',
    nextStep: 'Check firewall and proxy; for a slow network raise --connect-timeout.',
    exit: unreachable,
  },
  network_headers_timeout: {
    meaning: 'The server took the request and did not begin to answer within the limit.',
    nextStep: 'Try again; for calls that take longer raise --headers-timeout.',
    exit: unreachable,
  },
  network_body_timeout: {
    meaning: 'The server fell silent in the middle of an answer.',
    nextStep: 'Try again; for servers that pause longer raise --body-timeout.',
    exit: unreachable,
  },
  network_reset: {
    meaning: 'The connection broke off.',
    nextStep: 'Try again; look at whether the call was done before repeating one that changes something.',
    exit: unreachable,
  },
  network_protocol: {
    meaning: 'What came back is no HTTP.',
    nextStep: 'Check the URL, most of all https against http and the port.',
    exit: unreachable,
  },
  network_aborted: {
    meaning: 'It was stopped on this side.',
    nextStep: 'Run it again when you want it.',
    exit: failed,
  },
}

/** An answer, but not one that carries a message of MCP. */
export const remoteFailures: Readonly<Record<`server_${TransportFault}`, FailureRow>> = {
  server_sign_in_needed: {
    meaning: 'The server wants somebody to be signed in.',
    nextStep: 'drawbridge login {url}',
    exit: signInNeeded,
  },
  server_forbidden: {
    meaning: 'The server knows who calls and does not allow it.',
    nextStep: 'Ask for access, or sign in as somebody else: drawbridge login {url} --force',
    exit: failed,
  },
  server_not_found: {
    meaning: 'There is no MCP endpoint at that URL.',
    nextStep: `Check the path of the URL, often /mcp or /sse. What answers there: ${doctor}`,
    exit: failed,
  },
  server_lost: {
    meaning: 'The stream ended before the answer, and could not be taken up again.',
    nextStep: 'Try again; look at whether the call was done before repeating one that changes something.',
    exit: unreachable,
  },
  server_rate_limited: {
    meaning: 'The server got too many requests.',
    nextStep: 'Wait, as long as it asks for, and try again.',
    exit: unreachable,
  },
  server_unavailable: {
    meaning: 'The server answers with an error of its own (5xx).',
    nextStep: 'Try again later; tell whoever runs the server when it stays so.',
    exit: unreachable,
  },
  server_no_mcp: {
    meaning: 'Something answers there that is no MCP server.',
    nextStep: `Check the URL. What answers there: ${doctor}`,
    exit: failed,
  },
  server_refused: {
    meaning: 'The server refused the request.',
    nextStep: `Look at what it says above. Everything around it: ${doctor}`,
    exit: failed,
  },
  server_too_large: {
    meaning: 'The answer is larger than the bridge takes.',
    nextStep: 'Ask for less: a page, a part, a filter.',
    exit: failed,
  },
}

/** A document that is of no use. */
export const bodyFailures: Readonly<Record<`body_${BodyError['fault']}`, FailureRow>> = {
  body_too_large: {
    meaning: 'A document is larger than it can reasonably be.',
    nextStep: `Check the URL. What answers there: ${doctor}`,
    exit: failed,
  },
  body_not_json: {
    meaning: 'A document that has to be JSON is none; often it is the page of a proxy or a login.',
    nextStep: `Check the URL and the proxy. What answers there: ${doctor}`,
    exit: failed,
  },
}
