import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Grants } from './grants.ts';
import type { RemoteCounters } from './remote-counters.ts';
import type { RemoteSettings } from './remote-settings.ts';
/** A client known to the authorization server. */
export interface RemoteClient {
    clientId: string;
    clientSecret: string | undefined;
    redirectUris: string[];
}
/** What a test makes of the answers. Every member may be changed while the server runs. */
export interface AuthorizationScript {
    /**
     * Takes every client that was not forgotten, this one where a request names none, and what it did not issue for
     * what it did: most tests are not about the tokens themselves.
     */
    anybody?: string;
    /** Replaces members of the metadata; undefined omits them, as in the others. */
    metadata?: Record<string, unknown>;
    /** Replaces members of the response to a registration. */
    registration?: Record<string, unknown>;
    /** Replaces parameters of the authorization response. */
    response?: Record<string, string | undefined>;
    /** Replaces members of the token response. */
    tokens?: Record<string, unknown>;
    /** Called when a token request has been done, before it is answered: a token is spent however long that takes. */
    beforeTokenAnswer?(): Promise<void>;
}
/** The authorization server of all tests of the bridge. */
export interface AuthorizationServer {
    /** Answers a request for one of its paths; false for any other. */
    handle(request: IncomingMessage, response: ServerResponse, url: URL): Promise<boolean>;
    readonly grants: Grants;
    metadata(): Record<string, unknown>;
    /** Adds a client manually. */
    addClient(client: Partial<RemoteClient>): RemoteClient;
    forgetClients(): void;
    /** Approves every waiting `/authorize` and device code. */
    approve(): void;
    /** Returns the links for the user of waiting device codes. */
    userCodes(): string[];
}
/** `issuer()` is known when the server listens. */
export declare function createAuthorizationServer(settings: RemoteSettings, counters: RemoteCounters, issuer: () => string, script?: AuthorizationScript): AuthorizationServer;
