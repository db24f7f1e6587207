import type { AuthorizationCodePorts } from '../../core/authorization/authorization-code.ts'
import { sealTransaction } from '../../core/sign-in/sign-in-transaction.ts'
import { returnAddress } from './authorization-response.ts'
import { clientView, isLoopbackUri } from './client-view.ts'
import { type LoginPorts, type LoginSubject, purposeOf } from './login-subject.ts'
import type { AppView } from '../pages/app-view.ts'
import type { SubjectView } from '../pages/sign-in-subject.ts'
import { agoText } from '../pages/when.ts'

const dayInSeconds = 86_400

/** Where the pages of each kind of sign-in are, under the path of the base URL. Each takes the forms of its own pages. */
export const loginPaths: Readonly<Record<LoginSubject['kind'], string>> = {
  authorization: '/oauth/authorize',
  device: '/oauth/device',
  account: '/account/connections',
}

/**
 * What every page of a sign-in has in common: what it is for, where its forms post to, and what they carry sealed.
 * `secondFactorId` is that of the page which asks for a code.
 */
export function subjectPageView(
  subject: LoginSubject,
  secondFactorId: string | undefined,
  ports: LoginPorts,
): AppView & { action: string; transaction: string; subject: SubjectView } {
  const transaction = { purpose: purposeOf(subject), secondFactorId }
  return {
    action: `${ports.urls.basePath}${loginPaths[subject.kind]}`,
    transaction: sealTransaction(transaction, subject.visitor.binding, ports.signIn),
    subject: subjectView(subject, ports),
    appName: ports.appName,
    appUrl: ports.appUrl,
  }
}

function subjectView(subject: LoginSubject, { codes, signIn }: LoginPorts): SubjectView {
  switch (subject.kind) {
    case 'authorization': {
      const { request, client } = subject
      return {
        kind: 'authorization',
        client: clientView(client, request.redirectUri),
        redirectHost: returnAddress(request.redirectUri),
        returnsToThisComputer: isLoopbackUri(request.redirectUri),
        permissions: permissionsOf(request.scope, codes),
      }
    }
    case 'device': {
      const { device, client, userCode } = subject
      return {
        kind: 'device',
        client: clientView(client, undefined),
        userCode,
        address: device.address,
        asked: agoText(device.createdAt, signIn.runtime.now()),
        permissions: permissionsOf(device.scope, codes),
      }
    }
    case 'account':
      return { kind: 'account' }
  }
}

function permissionsOf(scope: string, { scopes, sessionTtlSeconds }: AuthorizationCodePorts): string[] {
  const days = Math.round(sessionTtlSeconds / dayInSeconds)
  const lasting =
    days >= 1 ? `${days} ${days === 1 ? 'day' : 'days'}` : `${Math.ceil(sessionTtlSeconds / 60)} minutes`
  return [...scopes.describe(scope), `Stay connected for ${lasting}, without asking you again`]
}
