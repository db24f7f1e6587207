import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, fail, ok, warn } from '@drawbridge/shared/terminal/check.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { appMethod } from '../../providers/supabase/app-client.ts'
import { callGotrue, type GotrueAnswer, type GotrueRequest } from '../../providers/supabase/call.ts'
import { askForDatabase } from '../../providers/supabase/ping.ts'
import { openProvider } from '../../startup/open-provider.ts'

// The client is known: only its token is refused.
const isAccepted: ReadonlySet<string> = new Set(['refresh_token_not_found', 'validation_failed'])

/** What the OAuth server answers otherwise than to a client that it knows; undefined while it does not answer. */
interface AppClientFacts {
  faults: readonly string[] | undefined
  callbackUrl: string
}

/**
 * Asks the OAuth server of a Supabase project as its client: begins a sign-in, which no one approves, and refreshes a token that
 * cannot exist.
 */
export async function probeAppClient(
  config: ServerConfig,
  runtime: Pick<Runtime, 'fetch' | 'now' | 'randomBytes'>,
): Promise<AppClientFacts> {
  const { providerUrl: url, providerKey: apiKey, providerClientId: id = '', providerClientSecret } = config
  const send = async (request: GotrueRequest): Promise<string | undefined> =>
    callGotrue({ url, apiKey }, request, runtime).then(meaningOf, () => undefined)
  const callbackUrl = `${config.baseUrl}/oauth/callback`
  const asked = await openProvider(config, runtime).socialStart({ method: appMethod, callbackUrl })
  const start = await send({ method: 'GET', path: asked.url.slice(url.length), expects: 'redirect' })
  const body = new URLSearchParams({ grant_type: 'refresh_token', ...askForDatabase.body })
  const basic = { id, secret: providerClientSecret ?? '' }
  const refresh = await send({ method: 'POST', path: '/oauth/token', body, basic })
  if (start === undefined || refresh === undefined) return { faults: undefined, callbackUrl }
  const faults = [start === begun ? [] : start, isAccepted.has(refresh) ? [] : refresh].flat()
  return { faults: [...new Set(faults)], callbackUrl }
}

const begun = 'authorization_id'

function meaningOf(answer: GotrueAnswer): string {
  if (answer.kind === 'refusal') return answer.code ?? String(answer.status)
  const parameters = URL.parse(String(answer.body))?.searchParams
  return parameters?.has(begun) ? begun : (parameters?.get('error') ?? 'nothing')
}

const turnOn = 'Turn it on in the dashboard, Authentication, OAuth Server.'
const setClient =
  'Set DRAWBRIDGE_PROVIDER_CLIENT_ID and the newest secret of a confidential client (client_secret_basic). If it was deleted, register another; then everyone has to connect again. Until then connections fail once their tokens run out.'

/** What helps, by the code of the API or of the redirect, or by the status of the answer. */
const fixes: Readonly<Record<string, string>> = {
  404: turnOn,
  feature_disabled: turnOn,
  invalid_credentials: setClient,
  oauth_client_not_found: setClient,
  validation_failed: 'Add this redirect URI to the client, to the letter:',
  server_error:
    "Set its authorization path in the dashboard, Authentication, OAuth Server: that of the app's page of consent. With DRAWBRIDGE_SIGN_IN_URL no page need be there.",
}

/** Checks this server's client of the project's OAuth server: what a sign-in in the app depends on there. */
export const appClientChecks: Checks<AppClientFacts> = {
  'oauth-client'({ faults, callbackUrl }) {
    // The check `provider` reports that.
    if (!faults) return undefined
    if (faults.length === 0) return ok('The OAuth server of the project accepts this server as its client.')
    const said = `The OAuth server of the project answers ${faults.join(' and ')}`
    const fix = faults.map((fault) => fixes[fault]).find((known) => known !== undefined)
    if (fix === undefined) return warn(`${said}, which may be a fault.`)
    return fail(`${said}: no one can sign in by the app.`, fix.replace(/:$/, `: ${callbackUrl}`))
  },
}
