import { requirementDocument } from '../requirement.ts'
import { core, edge, http, negative } from './proof.ts'

/** Clients that prove themselves by an assertion. */
export const assertions = requirementDocument('RFC 7521', 'Assertion Framework', [
  [
    '4.2',
    'An assertion comes with its type, and with nothing else that proves a client.',
    'server/http/client-authentication.ts',
    http('client-authentication', 'MUST NOT use more than one method: invalid_request for %s'),
  ],
  [
    '4.2',
    'A `client_id` beside it names the same client.',
    'server/http/client-authentication.ts',
    http('client-authentication', 'another id in the form than in the assertion'),
  ],
  [
    '4.2',
    'Another type is `invalid_client`.',
    'server/http/client-authentication.ts',
    http('client-authentication', 'an assertion of another type'),
  ],
])

/** Assertions that are JWTs. */
export const jwtAssertions = requirementDocument('RFC 7523', 'JWT Profile for Client Authentication', [
  ['2.1', 'A JWT is no grant here.', 'server/http/token.ts', negative.token('RFC 7523 2.1: a JWT as grant')],
  [
    '2.2',
    'A JWT proves a client that registered `private_key_jwt`.',
    'server/core/client-authentication.ts',
    [
      'server/open-clients.test.ts',
      'proves itself with private_key_jwt, keys from its jwks_uri, each assertion once',
    ],
  ],
  [
    '3',
    '`iss`, `sub`, `aud`, `exp` and `jti` are there and right, and the times fit.',
    'server/core/client-assertion.ts',
    core('client-assertion', 'verifyClientAssertion (RFC 7523 section 3)'),
  ],
  [
    '3',
    'It is signed, by a key of the client.',
    'server/core/client-assertion.ts',
    core('client-assertion', 'no signature: alg none'),
  ],
  [
    '3',
    'It counts once, at whatever instance.',
    'server/core/client-assertion.ts',
    core('client-assertion', 'an assertion counts once, at whatever instance'),
  ],
])

/** What is read of JWTs. */
export const jwtPractice = requirementDocument('RFC 8725', 'JSON Web Token Best Current Practices', [
  [
    '2.1',
    'A public key is no secret: HS256 under it is refused.',
    'server/core/client-assertion.ts',
    core('client-assertion', 'HS256 under the public key: RFC 8725 2.1'),
  ],
  [
    '3.1',
    'Algorithms are those of a list.',
    'server/provider/gotrue/token-verifier.ts',
    edge('provider/gotrue/token-verifier', 'RFC 8725 3.1: alg none'),
  ],
  [
    '3.2',
    'Only asymmetric algorithms are offered for assertions.',
    'server/http/metadata.ts',
    negative.resource('RFC 8725 3.2: no symmetric algorithm and no unsigned one is offered'),
  ],
  [
    '3.2',
    'A token of the provider that is signed with a secret counts only when that secret is configured.',
    'server/provider/gotrue/token-verifier.ts',
    edge('provider/gotrue/token-verifier', 'HS256 without a configured secret'),
  ],
  [
    '3.2',
    'An unsigned token opens nothing.',
    'server/provider/gotrue/token-verifier.ts',
    http('mcp', 'refuses a token signed with %s'),
  ],
  [
    '3.8',
    'Issuer and subject are checked.',
    'server/provider/gotrue/token-verifier.ts',
    edge('provider/gotrue/token-verifier', 'RFC 7519 4.1.1: another issuer'),
  ],
  [
    '3.9',
    'The audience is checked.',
    'server/provider/gotrue/token-verifier.ts',
    edge('provider/gotrue/token-verifier', 'RFC 7519 4.1.3: another audience'),
  ],
  [
    '3.10',
    'Keys that a token brings along, or points to, are not used.',
    'server/provider/jwks.ts',
    edge('provider/gotrue/token-verifier', 'RFC 8725 3.10: the key that the token brings along'),
  ],
  [
    '3.11',
    'A token of another type is no assertion.',
    'server/core/client-assertion.ts',
    core('client-assertion', 'a typ of another use: RFC 8725 3.11'),
  ],
])

/** The scheme Basic. */
export const basic = requirementDocument('RFC 7617', 'The Basic HTTP Authentication Scheme', [
  [
    '2',
    'A header that is no base64, or has no colon, proves nobody.',
    'server/http/client-authentication.ts',
    http('client-authentication', 'a header without a colon'),
  ],
])
