import { expect, it } from 'vitest'
import {
  authorizationPurpose,
  publicClient,
  visitorSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { inGerman } from '../../../tests/support/pages/view-sample.ts'
import { type LoginSubject, purposeOf, type SignInVisit } from './login-subject.ts'

const asked = authorizationPurpose()

it.each<[kind: string, subject: LoginSubject, purpose: object]>([
  ['a client', { ...asked, client: publicClient(), visitor: visitorSample() }, asked],
  ['connections', { kind: 'account', visitor: visitorSample() }, { kind: 'account' }],
])(
  'the purpose sealed into the pages of a sign-in for %s has their language, and neither client nor visitor',
  (_kind, subject, purpose) => {
    const visit = { subject, language: inGerman } as SignInVisit
    expect(purposeOf(visit)).toStrictEqual({ ...purpose, language: 'de' })
  },
)
