import type { CredentialFault } from '../../credentials/credential-store.ts'
import type { OAuthFault } from '../../oauth/login-port.ts'
import type { NetworkFault } from '../../http/http-client.ts'
import type { TransportFault } from '../../transport/transport.ts'

/** Exit codes, stable for scripts. A connection ends with one of the first three. */
export const exitCode = { ok: 0, failed: 1, usage: 2, signInNeeded: 3, unreachable: 4 } as const

/** One of {@link exitCode}. */
export type ExitCode = (typeof exitCode)[keyof typeof exitCode]

/** Stable code of a failure, in `--json`, in the `data` of JSON-RPC errors and in the documentation. */
export type FailureCode =
  | 'configuration'
  | 'unexpected'
  | `network_${NetworkFault}`
  | `server_${TransportFault}`
  | `oauth_${OAuthFault}`
  | `credentials_${CredentialFault}`

/** The texts of one kind of failure. */
interface FailureRow {
  /** Explains it in the documentation. The error's own message says what happened. */
  meaning: string
  /** Next step. `{url}` stands for the server's URL. */
  nextStep: string
  /** Defaults to `failed`. */
  exit?: ExitCode
}

const { signInNeeded, unreachable } = exitCode
const doctor = 'drawbridge doctor {url}'
const login = 'drawbridge login {url}'

/** Every failure with its next step. A new fault without a row is a compile error. */
export const failureTable: Readonly<Record<FailureCode, FailureRow>> = {
  configuration: {
    meaning: 'A flag, a variable or the configuration file is wrong.',
    nextStep: 'Every flag: drawbridge --help',
    exit: exitCode.usage,
  },
  unexpected: {
    meaning: 'Unexpected error.',
    nextStep: 'Try again; if it persists, report this line and the output of --version.',
  },

  // No response, or an incomplete one.
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
    nextStep: 'Check the network or the VPN of this computer.',
    exit: unreachable,
  },
  network_tls: {
    meaning: 'The certificate is not trusted, is for another host, or there is no common TLS version.',
    nextStep: 'For a private certificate authority add --ca FILE.',
    exit: unreachable,
  },
  network_proxy: {
    meaning: 'The proxy cannot be reached, or does not let the connection through.',
    nextStep:
      'Correct it where it is set (--proxy, HTTPS_PROXY, HTTP_PROXY or ALL_PROXY), or connect directly with --no-proxy.',
    exit: unreachable,
  },
  network_connect_timeout: {
    meaning: 'The connection could not be made in time.',
    nextStep: 'Check network, firewall and proxy.',
    exit: unreachable,
  },
  network_headers_timeout: {
    meaning: 'The server accepted the request and did not begin to respond in time.',
    nextStep: 'Try again; for calls that take longer raise --timeout.',
    exit: unreachable,
  },
  network_body_timeout: {
    meaning: 'The server stopped in the middle of a response.',
    nextStep: 'Try again; for servers that pause longer raise --timeout.',
    exit: unreachable,
  },
  network_reset: {
    meaning: 'The connection was closed.',
    nextStep: 'Try again; before you repeat a call that changes something, check whether it took effect.',
    exit: unreachable,
  },
  network_protocol: {
    meaning: 'The response is not HTTP, or not compressed as it says.',
    nextStep: 'Check the URL: https or http, and the port.',
    exit: unreachable,
  },
  network_aborted: {
    meaning: 'It was stopped here.',
    nextStep: 'Run it again.',
  },

  // A response that carries no MCP message.
  server_sign_in_needed: {
    meaning: 'The server requires a sign-in.',
    nextStep: 'drawbridge login {url}',
    exit: signInNeeded,
  },
  server_forbidden: {
    meaning: 'The server does not allow this user to call it.',
    nextStep: 'Ask for access, or sign in as someone else: drawbridge login {url} --force',
  },
  server_blocked: {
    meaning: 'A bot protection or firewall in front of the server lets only browsers through.',
    nextStep:
      'Check the URL, and ask the operator of the server to let programs through. Signing in does not help against a bot protection.',
  },
  server_not_found: {
    meaning: 'There is no MCP endpoint at that URL.',
    nextStep: `Check the path of the URL, often /mcp or /sse. To see what answers there: ${doctor}`,
  },
  server_lost: {
    meaning: 'The stream ended before the response, and could not be resumed.',
    nextStep: 'Try again; before you repeat a call that changes something, check whether it took effect.',
    exit: unreachable,
  },
  server_rate_limited: {
    meaning: 'The server has received too many requests.',
    nextStep: 'Wait as long as it says, and try again.',
    exit: unreachable,
  },
  server_unavailable: {
    meaning: 'The server reported an internal error (5xx).',
    nextStep: 'Try again later; if it persists, tell the operator of the server.',
    exit: unreachable,
  },
  server_no_mcp: {
    meaning: 'The program that answers there is not an MCP server.',
    nextStep: `Check the URL. To see what answers there: ${doctor}`,
  },
  server_refused: {
    meaning: 'The server refused the request.',
    nextStep: `See the message above. More: ${doctor}`,
  },
  server_too_large: {
    meaning: 'The response is larger than the bridge accepts (64 MB, or 2,000,000 values).',
    nextStep: 'Request less: one page, a part, a filter.',
  },

  // A failed sign-in or refresh.
  oauth_no_metadata: {
    meaning: 'The server requires a token and does not say where to get one.',
    nextStep: `Set a token in the variable DRAWBRIDGE_TOKEN. To see what was found: ${doctor}`,
  },
  oauth_blocked: {
    meaning: 'A bot protection in front of the authorization server lets only browsers through.',
    nextStep: 'Ask the operator of the server to let programs through to its OAuth endpoints.',
  },
  oauth_bad_metadata: {
    meaning: 'The metadata of the server cannot be used.',
    nextStep: `Tell the operator of the server. To see what was found: ${doctor}`,
  },
  oauth_issuer_mismatch: {
    meaning:
      'A server claims to be another authorization server, or uses its login page. The sign-in was stopped for safety.',
    nextStep: `Do not repeat it; tell the operator of the server. To see the names: ${doctor}`,
  },
  oauth_issuer_changed: {
    meaning:
      'The server names another authorization server than the one that the configured client belongs to. Nothing was sent there.',
    nextStep: `If you know that the server has moved, correct an issuer in --static-oauth-client-info, or else forget the old one: drawbridge logout {url}, then ${login}`,
    exit: signInNeeded,
  },
  oauth_resource_mismatch: {
    meaning: 'The metadata is for another server.',
    nextStep: 'Use the URL that the server calls its resource, or set --resource.',
  },
  oauth_no_pkce: {
    meaning:
      'The authorization server does not offer PKCE with S256, which protects the login if the code is stolen.',
    nextStep: 'Tell the operator of the server; until then set a token in the variable DRAWBRIDGE_TOKEN.',
  },
  oauth_no_registration: {
    meaning: 'The authorization server only accepts clients that were registered by hand.',
    nextStep: 'Register one there, and give its id with --static-oauth-client-info.',
  },
  oauth_registration_refused: {
    meaning: 'The authorization server refused to register the bridge.',
    nextStep: 'Change what it refuses with --static-oauth-client-metadata, or register a client by hand.',
  },
  oauth_redirect_refused: {
    meaning: 'The authorization server does not accept the redirect URI of the bridge.',
    nextStep:
      'Name one on this computer that it accepts with --callback, or register a client by hand and give it with --static-oauth-client-info.',
  },
  oauth_client_refused: {
    meaning: 'The authorization server no longer accepts the client or its secret.',
    nextStep: `Check --static-oauth-client-info if it is set; then: ${login} --force`,
    exit: signInNeeded,
  },
  oauth_access_denied: {
    meaning: 'Access was denied.',
    nextStep: `If that was a mistake: ${login}`,
    exit: signInNeeded,
  },
  oauth_expired: {
    meaning: 'The code or the login has expired.',
    nextStep: login,
    exit: signInNeeded,
  },
  oauth_scope_refused: {
    meaning: 'The authorization server does not grant the requested scopes.',
    nextStep: 'Remove --scope, or request scopes that it supports.',
  },
  oauth_refused: {
    meaning: 'The authorization server refused, and said why.',
    nextStep: `See the message above. More: ${doctor}`,
  },
  oauth_unavailable: {
    meaning: 'The authorization server cannot be reached or has an internal error. The login is kept.',
    nextStep: `Try again later. To see what can be reached: ${doctor}`,
    exit: unreachable,
  },
  oauth_no_callback_port: {
    meaning: 'The port that the browser returns to is in use.',
    nextStep:
      'End the program that uses it, or choose another port: the number after the URL, or --callback.',
  },
  oauth_timeout: {
    meaning: 'The sign-in timed out.',
    nextStep: `Try again, with more time if needed: ${login} --timeout 15m`,
    exit: signInNeeded,
  },
  oauth_cancelled: {
    meaning: 'The sign-in was stopped. The stored login is unchanged.',
    nextStep: login,
    exit: signInNeeded,
  },
  oauth_sign_in_needed: {
    meaning: 'There is no login, or it has expired.',
    nextStep: login,
    exit: signInNeeded,
  },

  // Stored logins that cannot be used.
  credentials_keychain_locked: {
    meaning: 'The system keychain is locked, or asks for permission.',
    nextStep: `Unlock it, then: ${login}`,
  },
  credentials_keychain_absent: {
    meaning: 'The keychain with the key of the stored logins is missing.',
    nextStep: 'Install drawbridge again, with its optional packages; or use --store file and sign in again.',
  },
  credentials_keychain_mute: {
    meaning: 'The keychain service does not respond.',
    nextStep: 'Restart the keychain service; or use --store file and sign in again.',
  },
  credentials_keychain_failed: {
    meaning: 'The keychain reported an error.',
    nextStep: `Repair what it names; or use --store file and sign in again. More: ${doctor}`,
  },
  credentials_key_missing: {
    meaning: 'The key of the stored logins is missing.',
    nextStep: 'If it cannot be restored, remove the logins and sign in again: drawbridge logout --all',
    exit: signInNeeded,
  },
  credentials_corrupt: {
    meaning: 'A stored login is damaged.',
    nextStep: `Remove it and sign in again: drawbridge logout {url}`,
    exit: signInNeeded,
  },
  credentials_newer_version: {
    meaning: 'The stored logins were written by a newer version.',
    nextStep: 'Update this drawbridge, or give it another folder with --home.',
  },
  credentials_not_writable: {
    meaning: 'The folder of the stored logins cannot be read or written.',
    nextStep: 'Give yourself access to the folder, or choose another one with --home.',
  },
  credentials_busy: {
    meaning: 'Another process holds the login.',
    nextStep: `Wait a minute and try again. More: ${doctor}`,
  },
}
