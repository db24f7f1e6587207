import type { HttpClient } from '../../http/http-client.ts'
import type { BridgeConfig } from '../../config/config-reader.ts'
import { durationText, waitFor } from '../terminal/progress.ts'
import type { Login } from '../../oauth/login/login.ts'
import { OAuthFailure, type PendingSignIn, type SignInPrompt } from '../../oauth/login-port.ts'
import type { LoginView } from '../../oauth/tokens/stored-tokens.ts'
import type { OAuthPorts } from '../../oauth/server-request.ts'
import { openShownLink } from '../terminal/open-browser.ts'
import { type CommandInput, configOf, printResult } from '../command.ts'
import { sendInitialize, namesSignIn } from '../connect/endpoint-probe.ts'
import { linkOf, signInLine } from '../../sign-in/sign-in-attempt.ts'
import { isOpenedByItself, withLogin } from '../connect/connection-login.ts'
import { CommandFailure } from '../failure/failure-text.ts'
import { type ExitCode, exitCode } from '../failure/failure-table.ts'
import { pasteRedirect } from './paste-redirect.ts'

type Outcome = 'signed_in' | 'already_signed_in' | 'not_needed'

/** Signs in, unless there is a login. With `force` the stored login stays until the new one exists. */
export async function login(input: CommandInput): Promise<ExitCode> {
  const config = configOf(input)
  const { terminal } = input
  if (config.fixedBy !== undefined) {
    const what = config.fixedBy === 'environment' ? 'token of DRAWBRIDGE_TOKEN' : 'header'
    terminal.note(`The ${what} is the login.`)
    printResult(input, { ok: true, did: 'not_needed' satisfies Outcome }, () => {})
    return exitCode.ok
  }
  await withLogin(config, input, async (own, http) => {
    const did = await signInUnlessDone(own, config, http, input)
    report(did, await own.state(), config, input)
  })
  return exitCode.ok
}

async function signInUnlessDone(
  own: Login,
  config: BridgeConfig,
  http: HttpClient,
  input: CommandInput,
): Promise<Outcome> {
  const force = input.options.force === true
  const state = await own.state()
  if (state?.state === 'signed_in' && !force) return 'already_signed_in'
  const { need, isPage } = await waitFor(
    input.terminal,
    () => `asking ${config.serverUrl}`,
    probeServer(own, config, { http, runtime: input.runtime }),
  )
  // --force ignores a stored login, even a valid one.
  if (need === 'done' && !force) return 'signed_in'
  if (need === 'none' && !force) return 'not_needed'
  const pending = own.signIn({ isForced: force })
  pending.done.catch(() => {})
  const interrupt = (): void => {
    input.terminal.note('Stopped. The stored login is unchanged.')
    pending.cancel()
  }
  // Not `once`: without this listener the locks of the store would end the process.
  process.on('SIGINT', interrupt)
  try {
    pending.prompt.catch(() => {})
    await showPrompt(pending, config, http, input)
    const endsAt = performance.now() + config.oauth.signInTimeoutMs
    const left = (): string => durationText((endsAt - performance.now()) / 1000)
    await waitFor(input.terminal, () => `waiting for the sign-in, ${left()} left`, pending.done)
    return 'signed_in'
  } catch (error) {
    throw isPage && error instanceof OAuthFailure && error.fault === 'no_metadata' ? webPage(config) : error
  } finally {
    process.off('SIGINT', interrupt)
  }
}

/** Asks the server whether it has a sign-in. A login without a user is `done` by that. */
async function probeServer(
  own: Login,
  { serverUrl, proxy, oauth }: BridgeConfig,
  ports: OAuthPorts,
): Promise<{ need: 'person' | 'none' | 'done'; isPage: boolean }> {
  const { status, challenges, message, isSse, contentType, wall } = await sendInitialize(
    ports.http,
    serverUrl,
    proxy.headers,
  )
  if (wall !== undefined) throw wall
  const isPage = contentType.startsWith('text/html') && challenges.length === 0
  if (status === 401 || status === 403) {
    const outcome = await own.refused({ status, used: undefined, challenges })
    return { need: outcome === 'retry' ? 'done' : 'person', isPage }
  }
  if (!isSse && (message === undefined || !('result' in message))) return { need: 'person', isPage }
  return { need: (await namesSignIn(oauth, ports)) ? 'person' : 'none', isPage }
}

/** The URL belongs to the web app. */
function webPage({ serverUrl }: Pick<BridgeConfig, 'serverUrl'>): CommandFailure {
  const { origin, pathname } = new URL(serverUrl)
  const text = `${origin}${pathname} is a page for browsers, not an MCP server.`
  return new CommandFailure(
    text,
    'Use the URL of the MCP server, which often ends in /mcp. The web app shows it where it offers to connect a client.',
  )
}

async function showPrompt(
  pending: PendingSignIn,
  config: BridgeConfig,
  http: HttpClient,
  { terminal, surroundings: { environment, platform } }: CommandInput,
): Promise<void> {
  const { expandedVariables: secretVariables } = config
  const show = (prompt: SignInPrompt): void => {
    terminal.note(signInLine(prompt))
    // Not awaited: a browser may stay in the foreground.
    if (config.openBrowser && isOpenedByItself(prompt))
      void openShownLink(linkOf(prompt), { environment, platform, secretVariables }, terminal.note)
    if (prompt.kind === 'browser' && terminal.isInteractive) {
      pasteRedirect(prompt.url, http, terminal, pending.done)
    }
  }
  const first = await waitFor(
    terminal,
    () => 'preparing the sign-in',
    // A login without a user is done without a prompt.
    Promise.race([pending.prompt, pending.done.then(() => undefined)]),
  )
  if (first === undefined) return
  show(first)
  pending.onPrompt?.((later) => {
    if (linkOf(later) !== linkOf(first)) show(later)
  })
}

function report(
  did: Outcome,
  known: LoginView | undefined,
  { serverUrl, oauth }: BridgeConfig,
  input: CommandInput,
): void {
  const facts = { ok: true, did, server: serverUrl, profile: oauth.profile }
  printResult(input, { ...facts, ...known }, () => {
    const as = known?.account == null ? '' : ` as ${known.account}`
    const at = known === undefined ? '' : `${as} at ${known.issuer}`
    const texts: Readonly<Record<Outcome, string>> = {
      signed_in: `Signed in to ${serverUrl}${at}.`,
      already_signed_in: `Already signed in to ${serverUrl}${at}. To sign in again, use --force.`,
      not_needed: `${serverUrl} answers without a sign-in, and names no authorization server.`,
    }
    input.terminal.note(texts[did])
  })
}
