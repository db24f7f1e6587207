import type { CredentialFault } from '../../credentials/credential-store.ts'
import type { OAuthFault } from '../../oauth/login-port.ts'
import { exitCode, type FailureRow } from './command-failure.ts'

import { bodyFailures, networkFailures, remoteFailures } from './failure-network.ts'

const { failed, signInNeeded, unreachable } = exitCode
const doctor = 'drawbridge doctor {url}'
const login = 'drawbridge login {url}'

/** A sign-in or a refresh that did not work. */
const oauthFailures: Readonly<Record<`oauth_${OAuthFault}`, FailureRow>> = {
  oauth_no_metadata: {
    meaning: 'The server wants a token and does not say where to get one.',
    nextStep: `Give it a token in the variable DRAWBRIDGE_TOKEN. Where was looked: ${doctor}`,
    exit: failed,
  },
  oauth_bad_metadata: {
    meaning: 'A metadata document of the server cannot be used.',
    nextStep: `Tell whoever runs the server. What is wrong with it: ${doctor}`,
    exit: failed,
  },
  oauth_issuer_mismatch: {
    meaning:
      'Somebody answers in the name of another authorization server, or sends people to its login page. The sign-in was ended for safety.',
    nextStep: `Do not repeat it; tell whoever runs the server. The names: ${doctor}`,
    exit: failed,
  },
  oauth_issuer_changed: {
    meaning:
      'The server names another authorization server than the one that the configured client belongs to. Nothing was sent there.',
    nextStep: `If the server has moved, say so when you are asked: ${login} --force. An issuer in --static-oauth-client-info has to be changed there.`,
    exit: signInNeeded,
  },
  oauth_resource_mismatch: {
    meaning: 'The metadata is for another server than the one that was asked.',
    nextStep: 'Use the URL that the server calls its resource, or set --resource.',
    exit: failed,
  },
  oauth_no_pkce: {
    meaning:
      'The authorization server does not offer PKCE with S256, so that a stolen code would be a stolen login.',
    nextStep: 'Tell whoever runs the server; until then give it a token in the variable DRAWBRIDGE_TOKEN.',
    exit: failed,
  },
  oauth_no_registration: {
    meaning: 'The authorization server knows only clients that were registered by hand.',
    nextStep: 'Register one there, and give its id with --static-oauth-client-info.',
    exit: failed,
  },
  oauth_registration_refused: {
    meaning: 'The authorization server did not want to register the bridge.',
    nextStep: 'Change what it refuses with --static-oauth-client-metadata, or register a client by hand.',
    exit: failed,
  },
  oauth_client_refused: {
    meaning: 'The authorization server does not know the client any more, or does not accept its secret.',
    nextStep: `Check --static-oauth-client-info if it is set; then: ${login} --force`,
    exit: signInNeeded,
  },
  oauth_state_mismatch: {
    meaning: 'The browser came back with the answer to another sign-in.',
    nextStep: `Close the old tabs and start anew: ${login}`,
    exit: signInNeeded,
  },
  oauth_access_denied: {
    meaning: 'The person or the server said no.',
    nextStep: `If that was not meant: ${login}`,
    exit: signInNeeded,
  },
  oauth_expired: {
    meaning: 'The code or the login has ended.',
    nextStep: login,
    exit: signInNeeded,
  },
  oauth_scope_refused: {
    meaning: 'The authorization server does not give the scopes that were asked for.',
    nextStep: 'Leave --scope out, or ask for scopes that it knows.',
    exit: failed,
  },
  oauth_refused: {
    meaning: 'The authorization server said no, and why.',
    nextStep: `Look at what it says above. Everything around it: ${doctor}`,
    exit: failed,
  },
  oauth_unavailable: {
    meaning: 'The authorization server cannot be reached or has an error. The login is kept.',
    nextStep: `Try again in a while. What can be reached: ${doctor}`,
    exit: unreachable,
  },
  oauth_no_callback_port: {
    meaning: 'The port that the browser has to come back to is taken.',
    nextStep: 'End the program that has it, or choose another: the number behind the URL, or --callback.',
    exit: failed,
  },
  oauth_timeout: {
    meaning: 'Nobody finished the sign-in in time.',
    nextStep: `Start anew, with more time if needed: ${login} --auth-timeout 15m`,
    exit: signInNeeded,
  },
  oauth_cancelled: {
    meaning: 'The sign-in was stopped. What was stored before is as it was.',
    nextStep: login,
    exit: signInNeeded,
  },
  oauth_sign_in_needed: {
    meaning: 'There is no login, or one that has ended.',
    nextStep: login,
    exit: signInNeeded,
  },
}

/** Stored logins that are there or not, but cannot be used. */
const credentialFailures: Readonly<Record<`credentials_${CredentialFault}`, FailureRow>> = {
  credentials_keychain_locked: {
    meaning: 'The keychain of the system is locked, or asks whether it may be opened.',
    nextStep: `Unlock it, then: ${login}`,
    exit: failed,
  },
  credentials_keychain_absent: {
    meaning: 'There is no keychain here, and the key of the stored logins is in one.',
    nextStep:
      'Start a Secret Service such as gnome-keyring with a session bus; or, to sign in anew, use --store file.',
    exit: failed,
  },
  credentials_keychain_mute: {
    meaning: 'The keychain service is there and does not answer.',
    nextStep: 'Restart the keychain service of the system; or, to sign in anew, use --store file.',
    exit: failed,
  },
  credentials_keychain_failed: {
    meaning: 'The keychain gave an error.',
    nextStep: `Look at what it says above; or, to sign in anew, use --store file. More: ${doctor}`,
    exit: failed,
  },
  credentials_key_missing: {
    meaning: 'The key that the stored logins are sealed with is gone.',
    nextStep: 'If it cannot be brought back, forget the logins and sign in again: drawbridge logout --all',
    exit: signInNeeded,
  },
  credentials_corrupt: {
    meaning: 'A stored login cannot be read: it was changed or damaged.',
    nextStep: `Forget it and sign in again: drawbridge logout {url}`,
    exit: signInNeeded,
  },
  credentials_newer_version: {
    meaning: 'A newer drawbridge has written what is stored.',
    nextStep: 'Update this drawbridge, or give it another folder with --home.',
    exit: failed,
  },
  credentials_not_writable: {
    meaning: 'The folder of the stored logins cannot be written or read.',
    nextStep: 'Give yourself access to the folder, or choose another one with --home.',
    exit: failed,
  },
  credentials_busy: {
    meaning: 'Another drawbridge holds the login and does not let go of it.',
    nextStep: `Wait a minute and try again. Who holds it: ${doctor}`,
    exit: failed,
  },
}

/** Stable name of a kind of failure: in `--json`, in the `data` of a JSON-RPC error, and in the documentation. */
export type FailureCode =
  | 'configuration'
  | 'unexpected'
  | keyof typeof bodyFailures
  | keyof typeof credentialFailures
  | keyof typeof networkFailures
  | keyof typeof oauthFailures
  | keyof typeof remoteFailures

/** Every failure that a person can meet, with its next step. A new fault without a row is a compile error. */
export const failureTable: Readonly<Record<FailureCode, FailureRow>> = {
  configuration: {
    meaning: 'What was given on the command line, in variables or in the configuration file is wrong.',
    nextStep: 'Every flag: drawbridge --help',
    exit: exitCode.usage,
  },
  unexpected: {
    meaning: 'Something happened that nobody has thought of.',
    nextStep: 'Try again; when it stays so, report this line with what --version says.',
    exit: exitCode.failed,
  },
  ...networkFailures,
  ...remoteFailures,
  ...bodyFailures,
  ...oauthFailures,
  ...credentialFailures,
}
