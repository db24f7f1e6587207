import type { RemoteCounters } from './remote-counters.ts';
import type { RemoteSettings } from './remote-settings.ts';
/** Response of `/token`. */
export interface TokenAnswer {
    access_token: string;
    token_type: 'Bearer';
    expires_in: number;
    refresh_token: string;
    scope: string;
}
/** The tokens of the remote. Times come from the system clock. */
export interface Grants {
    /** Issues tokens of a new grant. */
    open(clientId: string, scope: string): TokenAnswer;
    /** Throws {@link OAuthFailure}. `scope` may narrow. */
    refresh(token: string, clientId: string, scope: string | undefined): TokenAnswer;
    /** Returns the owner of an access token while it is valid. */
    caller(accessToken: string): {
        clientId: string;
        scope: string;
    } | undefined;
    /** RFC 7009: revokes either kind of token; for a refresh token the whole grant. */
    revoke(token: string): void;
    revokeAccessTokens(): void;
    /** Revokes refresh tokens too. */
    revokeAll(): void;
    /** All secrets issued so far. */
    readonly secrets: Set<string>;
}
/** Tokens are unguessable, and their prefixes identify them in a search for leaks. */
export declare function createGrants(settings: RemoteSettings, counters: RemoteCounters): Grants;
/** Returns 256 bits with a prefix that no other program uses, and the word that tests of commands look for. */
export declare function newSecret(kind: string): string;
