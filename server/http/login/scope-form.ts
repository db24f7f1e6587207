import { chosenScope, offerScopes, rememberChoice, type ScopeBox } from '../../core/sign-in/scope-choice.ts'
import type { ScopeCatalogue } from '../../core/tokens/scope.ts'
import type { Language } from '../../texts/language.ts'
import { describeScope } from '../describe-scope.ts'
import type { Choice } from '../pages/form-page.ts'
import { LoginError } from './login-error.ts'
import { askedScope } from '../../core/sign-in/sign-in-transaction.ts'
import { clientIdOfToken } from '../../core/tokens/personal-token.ts'
import type { ClientSubject, LoginSubject, LoginVisit, SignInVisit } from './login-subject.ts'

/** Returns what the user left of the requested scope. */
export function grantedScope(subject: ClientSubject): string {
  return chosenScope(askedScope(subject), subject.boxes)
}

/** A grant that a sign-in is for, of a client, a device or a personal token. */
export interface WantedGrant {
  clientId: string
  scope: string
  workspaceId?: string | undefined
}

/** Returns the grant that a sign-in is for; undefined if it only shows connections. */
export function wantedGrant(subject: LoginSubject): WantedGrant | undefined {
  if (subject.kind !== 'account')
    return { clientId: subject.client.id, scope: grantedScope(subject), workspaceId: subject.workspaceId }
  return subject.token && { clientId: clientIdOfToken(subject.token), scope: subject.token.scope }
}

/** Returns the part of the requested scope that has no box. */
export function fixedScope(subject: ClientSubject): string {
  const boxes = subject.boxes?.map(({ scope }) => ({ scope, ticked: false }))
  return chosenScope(askedScope(subject), boxes)
}

/** Describes boxes in plain words. */
export function boxViews(boxes: readonly ScopeBox[], scopes: ScopeCatalogue, language: Language): Choice[] {
  return boxes.map(({ scope: value, ticked }) => {
    const text = describeScope(value, scopes, language).join()
    return { value, text, ticked }
  })
}

/** Names a client in the cookie with the choices. As a device it has others, since it need not be where the browser is. */
function choosing({ kind, client }: ClientSubject): string {
  return `${kind} ${client.id}`
}

/** Gives the subject its boxes when it is first shown. Without optional scopes nothing is looked up. */
export async function offerBoxes(visit: SignInVisit): Promise<SignInVisit> {
  const { subject, request, ports } = visit
  if (subject.kind === 'account' || subject.boxes) return visit
  const optional = ports.scopes.optionalOf(askedScope(subject))
  if (optional.length === 0) return visit
  const choices = ports.cookies.choices.read(request)
  const offer = await offerScopes(optional, choosing(subject), choices, ports)
  return { ...visit, subject: { ...subject, ...offer } }
}

/**
 * Keeps which boxes are ticked, by the posted scopes; undefined: all. `hasBoxes`: posted by the page that shows them. Throws
 * `choice_refused` for a scope that was not asked for, on any page.
 */
export function takeScopes(
  posted: readonly string[] | undefined,
  hasBoxes: boolean,
  visit: SignInVisit,
): SignInVisit {
  const { subject } = visit
  if (subject.kind === 'account') return visit
  const asked = askedScope(subject).split(' ')
  if (posted?.some((scope) => !asked.includes(scope))) refuseChoice('scope', subject.client.id, visit)
  if (!hasBoxes) return visit
  const boxes = subject.boxes?.map(({ scope }) => ({ scope, ticked: posted?.includes(scope) ?? true }))
  return { ...visit, subject: { ...subject, boxes } }
}

/** Reports that a form named a choice that the page did not offer, and throws `choice_refused`. */
export function refuseChoice(
  field: 'scope' | 'workspace',
  clientId: string,
  { context }: Pick<LoginVisit, 'context'>,
): never {
  context.report('choice_refused', { client_id: clientId, field })
  throw new LoginError('choice_refused', { field })
}

/** Lets the browser remember the choice, for a step-up, where the server has scopes to choose. */
export async function withChoice(
  answer: Response,
  grantId: string,
  subject: ClientSubject,
  { request, ports }: LoginVisit,
): Promise<Response> {
  const { scopes, cookies } = ports
  const asked = scopes.optionalOf(askedScope(subject))
  if (scopes.optional.length === 0) return answer
  const of = { clientId: choosing(subject), grantId }
  const sealed = await rememberChoice(cookies.choices.read(request), of, asked, ports)
  answer.headers.append('set-cookie', cookies.choices.write(sealed))
  return answer
}
