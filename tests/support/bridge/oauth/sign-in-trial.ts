import type { Credential } from '../../../../bridge/credentials/credential.ts'
import type { SignInPrompt, SignInRequest } from '../../../../bridge/oauth/login-port.ts'
import type { OAuthConfig } from '../../../../bridge/oauth/oauth-config.ts'
import { createSignInFlow } from '../../../../bridge/oauth/grants/sign-in-flow.ts'
import { createTestHttp, createTestRuntime, oauthConfig, type TestRuntime } from './oauth-ports.ts'
import { type Arrival, visit } from './scripted-browser.ts'

/** A pending sign-in with its user. */
export interface SignInTrial {
  /** Resolves once the user is prompted. Never settles when the sign-in ends before. */
  prompt: Promise<SignInPrompt>
  /** Other lines shown to the user. */
  lines: string[]
  /** All prompts shown to the user. */
  prompts: SignInPrompt[]
  done: Promise<Credential>
  cancel(): void
}

export function beginTrial(
  serverUrl: string,
  changes: Partial<OAuthConfig> = {},
  request: SignInRequest = {},
  runtime: TestRuntime = createTestRuntime(),
): SignInTrial {
  const http = createTestHttp()
  const lines: string[] = []
  const flow = createSignInFlow(
    oauthConfig(serverUrl, changes),
    { http, runtime },
    (line) => void lines.push(line),
  )
  const stop = new AbortController()
  const prompts: SignInPrompt[] = []
  let announce: (prompt: SignInPrompt) => void = () => undefined
  const prompt = new Promise<SignInPrompt>((resolve) => {
    announce = resolve
  })
  const done = flow(
    request,
    (told) => {
      prompts.push(told)
      announce(told)
    },
    stop.signal,
  ).finally(() => http.close())
  done.catch(() => undefined)
  return { prompt, prompts, lines, done, cancel: () => stop.abort() }
}

/** Signs in with a browser that follows the prompt. */
export async function signIn(
  serverUrl: string,
  changes: Partial<OAuthConfig> = {},
  request: SignInRequest = {},
): Promise<{ credential: Credential; arrival: Arrival; prompts: SignInPrompt[]; lines: string[] }> {
  const trial = beginTrial(serverUrl, changes, request)
  // The test observes anything that ends the sign-in before a prompt.
  const { url } = await Promise.race([trial.prompt, trial.done.then((): never => noPrompt())])
  const arriving = visit(url)
  arriving.catch(() => undefined)
  const credential = await trial.done
  return { credential, arrival: await arriving, prompts: trial.prompts, lines: trial.lines }
}

function noPrompt(): never {
  throw new Error('The sign-in ended without a prompt.')
}
