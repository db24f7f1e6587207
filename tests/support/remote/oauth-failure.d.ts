/** An error response of the authorization server. */
export declare class OAuthFailure extends Error {
    readonly code: string;
    readonly status: number;
    constructor(code: string, description: string, status?: number);
}
