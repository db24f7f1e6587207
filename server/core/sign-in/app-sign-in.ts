import { type AttemptStore, limitKey } from '../limits/attempt-limit.ts'
import { signInsWithProof } from '../limits/limit-table.ts'
import { userOf, type Workspace } from '../session/grant.ts'
import { type Identity, ProviderError } from '../session/session-provider.ts'
import type { ListWorkspaces } from '../workspaces/workspace-list.ts'
import { type BrowserBinding, BrowserSeal, type BrowserSealReading } from './browser-seal.ts'
import { createPendingId, type SignInPorts } from './pending-sign-in.ts'
import { chosenScope } from './scope-choice.ts'
import { storeSocialSignIn } from './sign-in.ts'
import { countOrRefuse } from './sign-in-limit.ts'
import { askedScope, clientIdOf, type ClientPurpose, type SignInPurpose } from './sign-in-transaction.ts'

const requestSeconds = 600
/** Longer than any proof of a user is valid. */
const proofSeconds = 300

/** A sign-in that the web app is asked for. `id` is the `state` of the return. */
interface AppRequest {
  id: string
  purpose: SignInPurpose
}

const requestSeal = new BrowserSeal<AppRequest>('drawbridge app request')

/** A request as the web app sent it back, and the browser that it began in. */
export type OpenAppRequest = Extract<BrowserSealReading<AppRequest>, { kind: 'open' }>

/** Seals a request for the web app, for ten minutes and for one browser. Nothing is stored until it is answered. */
export function sealAppRequest(purpose: SignInPurpose, binding: BrowserBinding, ports: SignInPorts): string {
  const { runtime } = ports
  const request = { id: createPendingId(runtime), purpose }
  return requestSeal.seal(request, binding, ports, runtime.now() + requestSeconds)
}

/** Opens a request that the web app or its page sends. Does not check the browser: that is done when it returns. */
export function readAppRequest(sealed: string, ports: SignInPorts): BrowserSealReading<AppRequest> {
  return requestSeal.read(sealed, ports)
}

/** Returns the purpose of a request that was denied in the web app, if this is the browser in which it began. */
export function deniedPurpose(
  parameters: URLSearchParams,
  binding: BrowserBinding | undefined,
  ports: SignInPorts,
): SignInPurpose | undefined {
  if (parameters.get('error') !== 'access_denied') return undefined
  const opened = requestSeal.open(parameters.get('state'), binding, ports)
  return opened.kind === 'open' ? opened.value.purpose : undefined
}

/** Returns the URL that takes the browser of a denied request back here. */
export function denialUrl(sealed: string, { callbackUrl }: SignInPorts): string {
  return `${callbackUrl}?error=access_denied&state=${encodeURIComponent(sealed)}`
}

/** Runs the answer to a request, of which one counts over all instances. If it rejects, the request can be answered again. */
export async function answerOnce<Answer>(
  { value: { id } }: OpenAppRequest,
  answer: () => Promise<Answer>,
  ports: SignInPorts,
): Promise<Answer | 'answered'> {
  const counted = await useOnce(`app answer ${id}`, requestSeconds, ports)
  if (!counted) return 'answered'
  try {
    return await answer()
  } catch (error) {
    await ports.store.returnAttempt(counted.key, counted.windowEndsAt)
    throw error
  }
}

/** Answers that the web app can give again, after a change. `workspaces`: of the user, who has to choose one. */
export class AppAnswerRefused extends Error {
  override readonly name = 'AppAnswerRefused'
  readonly reason: 'scope' | 'workspace' | 'workspace_required' | 'workspaces_unavailable'
  readonly workspaces: readonly Workspace[] | undefined

  constructor(reason: AppAnswerRefused['reason'], workspaces?: readonly Workspace[]) {
    super(reason)
    this.reason = reason
    this.workspaces = workspaces
  }
}

/** The answer of a user who allowed a request: what is left out is as it was asked for. */
export interface AppAnswer {
  proof: string
  scope: string | undefined
  workspaceId: string | undefined
}

/**
 * Prepares the sign-in of a user who allowed a request in the web app, and returns the URL that takes the browser back here: no code of
 * a client exists before it has returned. Rejects with {@link ProviderError}, or with {@link AppAnswerRefused}.
 */
export async function allowInApp(
  { value: { id, purpose }, bindingHash }: OpenAppRequest,
  { proof, scope, workspaceId }: AppAnswer,
  ports: SignInPorts & { workspaces: ListWorkspaces | undefined },
): Promise<string> {
  const { provider, callbackUrl } = ports
  if (!provider.appSignIn)
    throw new ProviderError('disabled', 'The provider takes no sign-in of the web app.')
  const chosen = purpose.kind === 'account' ? purpose : withScope(purpose, scope)
  const limit = { key: limitKey('app proof', proof), ...signInsWithProof }
  await countOrRefuse([limit], 'sign-ins with one proof', ports)
  const { url, secret, ...user } = await provider.appSignIn({ proof, callbackUrl, state: id })
  const workspace = await checkWorkspace(chosen, workspaceId, user, ports)
  const { singleUse } = user
  if (singleUse !== undefined && !(await useOnce(limitKey('app proof used', singleUse), proofSeconds, ports)))
    throw new ProviderError('invalid_token', 'The proof was used before.')
  const payload = { purpose: { ...chosen, workspaceId: workspace }, secret, counted: [] }
  await storeSocialSignIn(payload, { id, bindingHash }, ports)
  return url
}

/** Ticks the boxes of the scopes to grant; undefined: all of them. */
function withScope<Purpose extends ClientPurpose>(purpose: Purpose, scope: string | undefined): Purpose {
  const wanted = scope?.split(' ').filter((name) => name !== '')
  const asked = askedScope(purpose).split(' ')
  if (wanted?.some((name) => !asked.includes(name))) throw new AppAnswerRefused('scope')
  const boxes = purpose.boxes?.map((box) => ({ ...box, ticked: wanted?.includes(box.scope) ?? true }))
  return { ...purpose, boxes }
}

/** Returns the id of the workspace that the client gets; undefined where the user has none. */
async function checkWorkspace(
  purpose: SignInPurpose,
  wanted: string | undefined,
  { identity, providerToken }: { identity: Identity; providerToken?: string | undefined },
  { provider, workspaces: list }: SignInPorts & { workspaces: ListWorkspaces | undefined },
): Promise<string | undefined> {
  if (purpose.kind === 'account') return undefined
  const of = {
    user: userOf(identity, provider.issuer),
    clientId: clientIdOf(purpose),
    scope: chosenScope(askedScope(purpose), purpose.boxes),
    providerToken: () => providerToken ?? '',
  }
  const workspaces = list ? await list(of) : []
  if (!workspaces) throw new AppAnswerRefused('workspaces_unavailable')
  if (wanted === undefined && workspaces.length > 1)
    throw new AppAnswerRefused('workspace_required', workspaces)
  if (wanted === undefined) return workspaces[0]?.id
  if (!workspaces.some(({ id }) => id === wanted)) throw new AppAnswerRefused('workspace')
  return wanted
}

/** Returns the key and window of the first use, which can be given back; undefined for a further one, which then does not count. */
async function useOnce(
  key: string,
  seconds: number,
  { store, runtime }: { store: AttemptStore; runtime: SignInPorts['runtime'] },
): Promise<{ key: string; windowEndsAt: number } | undefined> {
  const { count, windowEndsAt } = await store.countAttempt(key, seconds, runtime.now())
  if (count === 1) return { key, windowEndsAt }
  await store.returnAttempt(key, windowEndsAt)
  return undefined
}
