/** Version of this server, as in its manifest. */
export declare const version: string;
