import { requirementDocument } from '../requirement.ts'
import { core, edge, http, negative } from './proof.ts'

/** Clients that register themselves. */
export const registration = requirementDocument('RFC 7591', 'Dynamic Client Registration', [
  [
    '2',
    'Members that are known are of their type, else nothing is registered.',
    'server/core/client-metadata.ts',
    negative.registration('RFC 7591 2: redirect_uris that are no list'),
  ],
  [
    '2',
    'Members that are unknown are ignored.',
    'server/core/client-metadata.ts',
    core('client-registration', 'unknown members are ignored'),
  ],
  [
    '2',
    'A client of the code grant registers redirect URIs.',
    'server/core/client-registration.ts',
    negative.registration('RFC 7591 2: no redirect_uris for the code grant'),
  ],
  [
    '2',
    'An omitted method to authenticate is `client_secret_basic`; the secret is shown once and kept as a hash.',
    'server/core/client-registration.ts',
    core(
      'client-registration',
      '2: an omitted method is client_secret_basic; the secret is in the answer only',
    ),
  ],
  [
    '2',
    '`jwks` and `jwks_uri` exclude each other, and hold no private keys.',
    'server/core/client-key-metadata.ts',
    negative.registration('RFC 7591 2: jwks and jwks_uri at once'),
  ],
  [
    '2',
    'A client that registered without `refresh_token` gets none.',
    'server/core/token-issue.ts',
    negative.token('RFC 7591 2: a client that registered without refresh_token gets none'),
  ],
  [
    '2.1',
    'Response types fit the grant types.',
    'server/core/client-registration.ts',
    negative.registration('RFC 7591 2.1: response types of which none is known'),
  ],
  [
    '3',
    'Registration is limited for each address.',
    'server/core/client-registration-limit.ts',
    http('register', '429 as OAuth JSON with Retry-After, per address; what is refused is not stored'),
  ],
  [
    '3.1',
    'By POST, with a JSON object.',
    'server/http/register.ts',
    negative.registration('RFC 7591 3.1: a list instead of an object'),
  ],
  [
    '3.1.1',
    'A software statement proves nothing here, and is ignored.',
    'server/core/client-registration.ts',
    core('client-registration', '3.1.1: a software statement is ignored'),
  ],
  [
    '3.2.1',
    '201, uncached, with everything that was registered.',
    'server/http/register.ts',
    http('register', 'answers 201 with everything that was registered, uncached'),
  ],
  [
    '3.2.1',
    'The id is ours, unique, and not what the client wishes.',
    'server/core/client-registration.ts',
    negative.registration('RFC 7591 3.2.1: the client cannot choose its id'),
  ],
  [
    '3.2.1',
    'What is not supported is not promised.',
    'server/core/client-registration.ts',
    negative.registration('RFC 7591 3.2.1: what is not supported is not promised'),
  ],
  [
    '3.2.2',
    'A bad redirect URI is `invalid_redirect_uri`, any other fault `invalid_client_metadata`.',
    'server/core/client-metadata.ts',
    negative.registration('RFC 7591 3.2.2: one bad address beside a good one'),
  ],
  [
    '5',
    'Lengths and numbers are bounded.',
    'server/core/client-metadata.ts',
    negative.registration('RFC 7591 5: more addresses than anybody needs'),
  ],
  [
    '5',
    'What a client says about itself is shown as a claim.',
    'server/http/pages/client-facts.ts',
    edge('http/pages/login-page', 'unverified client'),
  ],
  [
    '5',
    'Registrations that nobody uses end after a day.',
    'server/core/client-registration.ts',
    http('register', 'expire after a day'),
  ],
])

/** Clients that change or end their registration. */
export const registrationManagement = requirementDocument(
  'RFC 7592',
  'Dynamic Client Registration Management',
  [
    [
      '2',
      'Without the registration access token there is one answer, whether the client is there or not.',
      'server/http/register-management.ts',
      http('register-management', '%s: one and the same answer, whether there is such a client or not'),
    ],
    [
      '2.1',
      'Reading gives what is registered, uncached.',
      'server/http/register-management.ts',
      http(
        'register-management',
        'answers what is registered, uncached, with the token and address of its management',
      ),
    ],
    [
      '2.1',
      'The token comes in the header.',
      'server/http/register-management.ts',
      negative.registration('RFC 7592 2.1: the token in the query'),
    ],
    [
      '2.2',
      'Replacing replaces everything, and is checked as registering is.',
      'server/core/client-registration.ts',
      negative.registration('RFC 7592 2.2: replacing with a bad address'),
    ],
    [
      '2.2',
      'The id stays, and secrets are not chosen.',
      'server/core/client-registration.ts',
      http('register-management', 'refuses %s, and changes nothing'),
    ],
    [
      '2.3',
      'Deleting ends the client, its grants and its tokens.',
      'server/core/client-removal.ts',
      http('register-management', 'removes the client, its grants and its tokens, and answers 204'),
    ],
    [
      '2.3',
      'A deleted client is unknown everywhere.',
      'server/core/client-removal.ts',
      negative.registration('RFC 7592 2.3: a client that was deleted is unknown everywhere'),
    ],
    [
      '3',
      'The answer of registration names the address and the token of its management.',
      'server/http/register.ts',
      http('register', 'answers 201 with everything that was registered, uncached'),
    ],
    [
      '3',
      'That token is for its client alone.',
      'server/http/register-management.ts',
      negative.registration('RFC 7592 3: the token of one client at another'),
    ],
  ],
)
