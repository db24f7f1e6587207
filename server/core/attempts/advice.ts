import { type AttemptStep, attemptSteps } from '@drawbridge/shared/attempt-step.ts'
import type { StepRecord } from './attempt.ts'

const doctor = 'Run drawbridge-server doctor'

/** The advice if nothing followed this step. */
const afterStep: Readonly<Record<AttemptStep, string>> = {
  challenge: `The program was asked to sign in and never asked where. Either it does not support OAuth, or the WWW-Authenticate header of the 401 does not reach it. ${doctor}: challenge.`,
  resource_metadata: `The program read where to sign in, and never the metadata of the authorization server. It may not have received JSON, or no path below /.well-known/ reaches this server. ${doctor}: exact-paths, answers-programs.`,
  server_metadata:
    'The program read all metadata, and no client from its network registered or opened the sign-in page. If it needs a client id, create one: drawbridge-server clients add. If it registers itself, REGISTRATION must be on and POST /oauth/register must pass the proxy.',
  client:
    'The client is known, and its sign-in page was not shown. The log has the error under this request id.',
  register:
    'The client registered, and its sign-in page was not opened. It may show a link that was not clicked, or could not open a browser on its machine.',
  page: 'The sign-in page was shown, and the user did not sign in. If they did, their browser may block the cookie of this server: the page must be opened at BASE_URL, over https.',
  sign_in:
    'The user began to sign in and did not come back. Look at the log of the session provider, and whether it may redirect to BASE_URL/oauth/callback.',
  code: `The code was sent to the client, and nothing came to /oauth/token. A hosted client fetches tokens from its own servers: look at the firewall for them, at port 443, and at a proxy that answers POST itself. ${doctor}: public-port, answers-programs. A client on the user's machine may have stopped waiting.`,
  token: `The client has its tokens, and never called /mcp with them. Check that the Authorization header reaches this server unchanged, and that the client sends the token to no other server: resource and issuer must be BASE_URL. ${doctor}: keeps-headers.`,
  first_call: 'The client is connected.',
  list: 'The client is connected.',
}

/** The advice if this step was refused. */
const refused: Readonly<Record<AttemptStep, string>> = {
  challenge:
    'A request to /mcp without a token was refused. Check BASE_URL, ALLOWED_ORIGINS, and the Host header that the proxy sends.',
  resource_metadata: `The resource metadata was requested at a path where there is none. The proxy may rewrite the path or the host. ${doctor}: exact-paths.`,
  server_metadata: `The metadata of the authorization server was requested at a path where there is none. The proxy may rewrite the path, or BASE_URL has another path. ${doctor}: exact-paths.`,
  client:
    'The metadata document of the client could not be used. This server must reach its host over https; the log event client_document_unavailable has the reason.',
  register:
    'The registration was refused. docs/clients.md says what a client may register; drawbridge-server clients add makes one by hand.',
  page: 'The sign-in page could not be shown. docs/errors.md explains the word in brackets.',
  sign_in:
    'The sign-in was refused by the session provider, a limit, an access rule or the user. docs/errors.md explains the word in brackets.',
  code: 'The client did not get its code. Look at its redirect URI.',
  token:
    'The token request was refused. invalid_client: the client was removed or uses another secret. invalid_grant: the code was used twice, is older than a minute, or came with another code_verifier or redirect_uri; look at the clock of this server, and at a proxy that repeats requests. A refresh: the connection has ended; drawbridge-server grants list --all says why.',
  first_call:
    'The token was accepted, and the first call refused. The log has the error under this request id.',
  list: 'The tools could not be listed. The log has the error under this request id.',
}

/** The advice for a refusal of this kind at any step. */
const refusedFor: Readonly<Record<string, string>> = {
  foreign_browser:
    'The browser did not send the cookie of the sign-in page back. It blocks cookies, or the page was opened at an address other than BASE_URL.',
  access_denied: 'An access rule refused the account. drawbridge-server access test says which.',
  client_unknown:
    'The client is not registered here: it may have been removed, or have registered at another server. It has to register again.',
  redirect_uri_mismatch:
    'The client asked for a redirect URI that it did not register. drawbridge-server clients list says which it has.',
}

/** Advises on the last refusal if nothing later succeeded, else on the step that nothing followed. */
export function adviceOn(records: readonly StepRecord[]): string | undefined {
  const decisive = failureOf(records) ?? furthestOf(records)
  if (!decisive) return undefined
  const { step, ok, detail } = decisive
  if (detail === undefined) return ok ? afterStep[step] : refused[step]
  return `${ok ? afterStep[step] : (refusedFor[detail] ?? refused[step])} (${detail})`
}

/** Returns the last refusal, unless that step or a later one succeeded. */
export function failureOf(records: readonly StepRecord[]): StepRecord | undefined {
  const reached = rankOf(furthestOf(records))
  return records.findLast((each) => !each.ok && rankOf(each) > reached)
}

/** Returns the furthest step that succeeded. */
export function furthestOf(records: readonly StepRecord[]): StepRecord | undefined {
  return records
    .filter(({ ok }) => ok)
    .toSorted((one, other) => rankOf(one) - rankOf(other))
    .at(-1)
}

/** Returns the place of a step in the order of connecting; -1 without one. */
export function rankOf(record: StepRecord | undefined): number {
  return record ? attemptSteps.indexOf(record.step) : -1
}
