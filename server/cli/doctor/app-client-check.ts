import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Checks, fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { createAppClient } from '../../providers/supabase/app-client.ts'
import { callGotrue, type GotrueAnswer, type GotrueRequest } from '../../providers/supabase/call.ts'
import { askForDatabase } from '../../providers/supabase/ping.ts'

type Config = Pick<
  ServerConfig,
  'baseUrl' | 'providerUrl' | 'providerKey' | 'providerClientId' | 'providerClientSecret' | 'signInUrl'
>

export interface AppClientFacts {
  config: Config
  /** The response to a refresh token that cannot exist, and to the beginning of a sign-in; undefined without one. */
  refresh: GotrueAnswer | undefined
  start: GotrueAnswer | undefined
}

/** Asks the OAuth server of a Supabase project as its client. Begins a sign-in there, which no one approves. */
export async function probeAppClient(
  config: Config,
  runtime: Pick<Runtime, 'fetch' | 'now' | 'randomBytes'>,
): Promise<AppClientFacts> {
  const { providerUrl: url, providerKey: apiKey, providerClientId: id = '' } = config
  const send = (request: GotrueRequest): Promise<GotrueAnswer | undefined> =>
    callGotrue({ url, apiKey }, request, runtime).catch(() => undefined)
  let refresh: GotrueAnswer | undefined
  const client = { url, id, secret: config.providerClientSecret ?? '', label: undefined }
  const calls = createAppClient(client, async (request) => void (refresh = await send(request)), runtime)
  await calls.refresh(askForDatabase.body.refresh_token)
  const { url: startUrl } = await calls.start(callbackUrlOf(config))
  const start = await send({ method: 'GET', path: startUrl.slice(url.length), expects: 'redirect' })
  return { config, refresh, start }
}

const callbackUrlOf = ({ baseUrl }: Config): string => `${baseUrl}/oauth/callback`

/** What an answer means, by the code of the API, of the redirect, or its status. */
const faults: Readonly<Record<string, (config: Config) => Outcome>> = {
  404: isOff,
  feature_disabled: isOff,
  invalid_credentials: isUnknown,
  oauth_client_not_found: isUnknown,
  validation_failed: (config) =>
    fail(
      `The client at the OAuth server of the project may not return to ${callbackUrlOf(config)}.`,
      'Add that redirect URI to the client, to the letter.',
    ),
  server_error: ({ signInUrl }) =>
    fail(
      'The OAuth server of the project has no authorization path: no one can sign in by the app.',
      `Set it in the dashboard, Authentication, OAuth Server${signInUrl === undefined ? ", to the app's page of consent." : ', such as /oauth/consent. No page need be there.'}`,
    ),
}

function isOff(): Outcome {
  return fail(
    'The OAuth server of the project is off: no one can sign in by the app.',
    'Turn it on in the dashboard, Authentication, OAuth Server.',
  )
}

function isUnknown(): Outcome {
  return fail(
    'The OAuth server of the project refuses DRAWBRIDGE_PROVIDER_CLIENT_ID with its secret: no one can sign in by the app, and connections fail once their tokens run out.',
    'Set the id and the newest secret of a confidential client (client_secret_basic). If it was deleted, register another; then everyone has to connect again.',
  )
}

// The client is known: only its token is refused.
const isAccepted: ReadonlySet<string> = new Set(['refresh_token_not_found', 'validation_failed'])

/** Checks this server's client of the project's OAuth server: what a sign-in in the app depends on there. */
export const appClientChecks: Checks<AppClientFacts> = {
  'oauth-client'({ config, ...facts }) {
    // The check `provider` reports that.
    if (!facts.refresh || !facts.start) return undefined
    const [start, refresh] = [meaningOf(facts.start), meaningOf(facts.refresh)]
    const fault = faults[start] ?? (isAccepted.has(refresh) ? undefined : faults[refresh])
    if (fault) return fault(config)
    if (start === 'authorization_id' && isAccepted.has(refresh))
      return ok('The OAuth server of the project accepts this server as its client.')
    return warn(`The OAuth server of the project answers ${start} and ${refresh}, which may be a fault.`)
  },
}

function meaningOf(answer: GotrueAnswer): string {
  if (answer.kind === 'refusal') return answer.code ?? String(answer.status)
  const parameters = URL.parse(String(answer.body))?.searchParams
  return parameters?.has('authorization_id') ? 'authorization_id' : (parameters?.get('error') ?? 'nothing')
}
