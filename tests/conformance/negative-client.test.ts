import type { Expected, Fields, NegativeCase } from './negative-case.ts'
import { bad, challenged, issued, redeem, refreshForm, token } from './negative-request.ts'
import { describeCases } from './negative-suite.ts'

const webForm = { ...refreshForm, client_id: '{web}', refresh_token: '{web_refresh_token}' }
const web = (
  title: string,
  form: Fields,
  headers: Record<string, string>,
  expected: Expected,
): NegativeCase => ({
  title,
  steps: [
    { request: token({ ...webForm, ...form }, headers), expected },
    { request: token({ ...webForm, client_secret: '{client_secret}' }), expected: issued },
  ],
})
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const keyedForm = { client_id: '{keyed}', code: '{keyed_code}', client_assertion: '{assertion}' }
const clientFails = bad('invalid_client', 401)

const authentication: NegativeCase[] = [
  web(
    'RFC 6749 3.2.1, RFC 9700 2.5, OAuth 2.1 3.2.1: a client with a secret comes without it',
    {},
    {},
    clientFails,
  ),
  web('RFC 6749 2.3.1: an empty secret is none', { client_secret: '' }, {}, clientFails),
  web('RFC 6749 2.3.1: a wrong secret in the form', { client_secret: 'wrong' }, {}, clientFails),
  web(
    'RFC 6749 2.3.1: a secret with one character more',
    { client_secret: '{client_secret}x' },
    {},
    clientFails,
  ),
  web(
    'RFC 6749 5.2: a wrong secret by Basic is answered with the scheme',
    {},
    { authorization: '{basic_wrong}' },
    challenged,
  ),
  web(
    'RFC 6749 2.3, OAuth 2.1 2.4: two methods at once',
    { client_secret: '{client_secret}' },
    { authorization: '{basic}' },
    bad('invalid_request'),
  ),
  web(
    'RFC 6749 2.3: the header and the form name two clients',
    { client_id: '{client}' },
    { authorization: '{basic}' },
    bad('invalid_request'),
  ),
  web('RFC 7617 2: a Basic header that is none', {}, { authorization: 'Basic !!!' }, challenged),
  web('RFC 7617 2: a Basic header without a colon', {}, { authorization: 'Basic eA==' }, challenged),
  web('RFC 6749 5.2: a scheme that is unknown here', {}, { authorization: 'Digest x' }, challenged),
  web(
    'RFC 6750 2.1: a bearer token is no proof of a client',
    {},
    { authorization: 'Bearer {web_access_token}' },
    challenged,
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
    { client_id: undefined },
    { authorization: '{basic_public}' },
    bad('invalid_grant'),
  ),
  web(
    'RFC 7521 4.2: an assertion without its type',
    { client_assertion: 'e30.e30.e30' },
    {},
    bad('invalid_request'),
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
  web(
    'RFC 7523 3: an assertion that is no JWT',
    {
      client_assertion: 'x',
      client_assertion_type: assertionType,
    },
    {},
    clientFails,
  ),
  web(
    'RFC 7523 3: an assertion without a signature',
    {
      client_id: undefined,
      client_assertion: 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.',
      client_assertion_type: assertionType,
    },
    {},
    clientFails,
  ),
  web(
    'RFC 6749 2.3: an assertion beside a secret',
    { client_secret: '{client_secret}', client_assertion: 'x', client_assertion_type: 'y' },
    {},
    bad('invalid_request'),
  ),
]

describeCases({ 'client authentication': authentication })
