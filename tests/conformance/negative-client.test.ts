import { type Expected, type Fields, type NegativeCase, row, rows } from './negative-case.ts'
import {
  badGrant,
  badRequest,
  challenged,
  clientFails,
  issued,
  redeem,
  refreshForm,
  token,
} from './negative-request.ts'
import { describeCases } from './negative-suite.ts'

const webForm = { ...refreshForm, client_id: '{web}', refresh_token: '{web_refresh_token}' }
interface Proof {
  form?: Fields
  authorization?: string
}

/** Expects a refusal after which the client can still refresh. */
const web = (expected: Expected, table: Record<string, Proof>): NegativeCase[] =>
  rows(
    ({ form = {}, authorization }: Proof) => [
      {
        request: token({ ...webForm, ...form }, authorization === undefined ? {} : { authorization }),
        expected,
      },
      { request: token({ ...webForm, client_secret: '{client_secret}' }), expected: issued },
    ],
    table,
  )
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const keyedForm = { client_id: '{keyed}', code: '{keyed_code}', client_assertion: '{assertion}' }

const authentication: NegativeCase[] = [
  ...web(clientFails, {
    'RFC 6749 3.2.1, RFC 9700 2.5, OAuth 2.1 3.2.1: a client with a secret comes without it': {},
    'RFC 6749 2.3.1: an empty secret is none': { form: { client_secret: '' } },
    'RFC 6749 2.3.1: a wrong secret in the form': { form: { client_secret: 'wrong' } },
    'RFC 6749 2.3.1: a secret with one character more': { form: { client_secret: '{client_secret}x' } },
    'RFC 7523 3: an assertion that is no JWT': {
      form: { client_assertion: 'x', client_assertion_type: assertionType },
    },
    'RFC 7523 3: an assertion without a signature': {
      form: {
        client_id: undefined,
        client_assertion: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.',
        client_assertion_type: assertionType,
      },
    },
  }),
  ...web(challenged, {
    'RFC 6749 5.2: a wrong secret by Basic is answered with the scheme': { authorization: '{basic_wrong}' },
    'RFC 7617 2: a Basic header that is none': { authorization: 'Basic !!!' },
    'RFC 7617 2: a Basic header without a colon': { authorization: 'Basic eA==' },
    'RFC 6749 5.2: a scheme that is unknown here': { authorization: 'Digest x' },
    'RFC 6750 2.1: a bearer token is no proof of a client': { authorization: 'Bearer {web_access_token}' },
  }),
  ...web(badRequest, {
    'RFC 6749 2.3, OAuth 2.1 2.4: two methods at once': {
      form: { client_secret: '{client_secret}' },
      authorization: '{basic}',
    },
    'RFC 6749 2.3: the header and the form name two clients': {
      form: { client_id: '{client}' },
      authorization: '{basic}',
    },
    'RFC 7521 4.2: an assertion without its type': { form: { client_assertion: 'e30.e30.e30' } },
    'RFC 6749 2.3: an assertion beside a secret': {
      form: { client_secret: '{client_secret}', client_assertion: 'x', client_assertion_type: 'y' },
    },
  }),
  ...web(badGrant, {
    'RFC 6749 2.3: a public client by Basic for a client with a secret': {
      form: { client_id: undefined },
      authorization: '{basic_public}',
    },
  }),
  row(
    'RFC 6749 2.3.1, OAuth 2.1 2.4.1: the secret in the query does not count',
    { ...token(webForm), query: { client_secret: '{client_secret}' } },
    clientFails,
  ),
  {
    title: 'RFC 7521 4.2: an unknown assertion type',
    steps: [
      {
        request: redeem({ ...keyedForm, client_assertion_type: `${assertionType}x` }),
        expected: clientFails,
      },
      { request: redeem({ ...keyedForm, client_assertion_type: assertionType }), expected: issued },
    ],
  },
]

describeCases({ 'client authentication': authentication })
