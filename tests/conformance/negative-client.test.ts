import type { Expected, Fields, NegativeCase } from './negative-case.ts'
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
/** Expects a refusal after which the client can still refresh. */
const web = (
  title: string,
  expected: Expected,
  form: Fields,
  headers: Record<string, string> = {},
): NegativeCase => ({
  title,
  steps: [
    { request: token({ ...webForm, ...form }, headers), expected },
    { request: token({ ...webForm, client_secret: '{client_secret}' }), expected: issued },
  ],
})
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const keyedForm = { client_id: '{keyed}', code: '{keyed_code}', client_assertion: '{assertion}' }

const authentication: NegativeCase[] = [
  web(
    'RFC 6749 3.2.1, RFC 9700 2.5, OAuth 2.1 3.2.1: a client with a secret comes without it',
    clientFails,
    {},
  ),
  web('RFC 6749 2.3.1: an empty secret is none', clientFails, { client_secret: '' }),
  web('RFC 6749 2.3.1: a wrong secret in the form', clientFails, { client_secret: 'wrong' }),
  web('RFC 6749 2.3.1: a secret with one character more', clientFails, { client_secret: '{client_secret}x' }),
  web(
    'RFC 6749 5.2: a wrong secret by Basic is answered with the scheme',
    challenged,
    {},
    { authorization: '{basic_wrong}' },
  ),
  web(
    'RFC 6749 2.3, OAuth 2.1 2.4: two methods at once',
    badRequest,
    { client_secret: '{client_secret}' },
    { authorization: '{basic}' },
  ),
  web(
    'RFC 6749 2.3: the header and the form name two clients',
    badRequest,
    { client_id: '{client}' },
    { authorization: '{basic}' },
  ),
  web('RFC 7617 2: a Basic header that is none', challenged, {}, { authorization: 'Basic !!!' }),
  web('RFC 7617 2: a Basic header without a colon', challenged, {}, { authorization: 'Basic eA==' }),
  web('RFC 6749 5.2: a scheme that is unknown here', challenged, {}, { authorization: 'Digest x' }),
  web(
    'RFC 6750 2.1: a bearer token is no proof of a client',
    challenged,
    {},
    { authorization: 'Bearer {web_access_token}' },
  ),
  {
    title: 'RFC 6749 2.3.1, OAuth 2.1 2.4.1: the secret in the query does not count',
    steps: [
      {
        request: { ...token(webForm), query: { client_secret: '{client_secret}' } },
        expected: clientFails,
      },
    ],
  },
  web(
    'RFC 6749 2.3: a public client by Basic for a client with a secret',
    badGrant,
    { client_id: undefined },
    { authorization: '{basic_public}' },
  ),
  web('RFC 7521 4.2: an assertion without its type', badRequest, { client_assertion: 'e30.e30.e30' }),
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
  web('RFC 7523 3: an assertion that is no JWT', clientFails, {
    client_assertion: 'x',
    client_assertion_type: assertionType,
  }),
  web('RFC 7523 3: an assertion without a signature', clientFails, {
    client_id: undefined,
    client_assertion: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.',
    client_assertion_type: assertionType,
  }),
  web('RFC 6749 2.3: an assertion beside a secret', badRequest, {
    client_secret: '{client_secret}',
    client_assertion: 'x',
    client_assertion_type: 'y',
  }),
]

describeCases({ 'client authentication': authentication })
