import { chosenScope, offerScopes, type ScopeBox } from '../../core/authorization/scope-choice.ts'
import { findEarlierChoice, rememberChoice } from '../../core/sign-in/choice-cookie.ts'
import { LoginError } from './login-error.ts'
import {
  askedScope,
  type ClientSubject,
  type LoginSubject,
  type LoginVisit,
  type SignInVisit,
} from './login-subject.ts'

/** Returns the scopes that the login page shows with a box. Without optional scopes nothing is looked up. */
export async function scopeBoxes({ subject, request, ports }: SignInVisit): Promise<ScopeBox[]> {
  const optional = optionalScopes(subject, ports)
  if (subject.kind === 'account' || optional.length === 0) return []
  const { store, cookies, signIn } = ports
  const { sealer, runtime } = signIn
  const cookie = cookies.choices.read(request)
  const earlier = await findEarlierChoice(cookie, subject.client.id, { store, sealer, runtime })
  const boxes = offerScopes(optional, earlier)
  const chosen = subject.chosen?.split(' ')
  return chosen ? boxes.map((box) => ({ ...box, ticked: chosen.includes(box.scope) })) : boxes
}

/** Keeps what a form of the login page says about `boxes`. Throws `choice_refused` for a scope that was not asked for. */
export function takeScopes(fields: URLSearchParams, boxes: readonly string[], visit: SignInVisit): void {
  const { subject, context } = visit
  if (subject.kind === 'account') return
  const chosen = chosenScope(askedScope(subject), boxes, fields.getAll('scope'))
  if (chosen === undefined) {
    context.report('choice_refused', { client_id: subject.client.id, field: 'scope' })
    throw new LoginError('choice_refused')
  }
  if (boxes.length > 0) visit.subject = { ...subject, chosen }
}

/** Lets the browser remember the choice, for a step-up, where there was one to make. */
export function withChoice(
  answer: Response,
  grantId: string,
  subject: ClientSubject,
  { request, ports }: LoginVisit,
): Response {
  const optional = optionalScopes(subject, ports)
  if (optional.length === 0) return answer
  const { cookies, signIn } = ports
  const chosen = (subject.chosen ?? askedScope(subject)).split(' ')
  const refused = optional.filter((scope) => !chosen.includes(scope))
  const choice = { clientId: subject.client.id, grantId, refused }
  const sealed = rememberChoice(cookies.choices.read(request), choice, signIn.sealer)
  answer.headers.append('set-cookie', cookies.choices.write(sealed))
  return answer
}

function optionalScopes(subject: LoginSubject, { codes }: LoginVisit['ports']): string[] {
  return subject.kind === 'account' ? [] : codes.scopes.optionalOf(askedScope(subject))
}
