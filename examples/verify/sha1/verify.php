<?php

/**
 * Whether Sluice sent this request. $rawBody: the bytes as received, from file_get_contents('php://input').
 * $headers: those of getallheaders().
 */
function isGenuine(string $rawBody, array $headers, string $secret): bool
{
    $headers = array_change_key_case($headers);
    $expected = hash_hmac('sha1', $rawBody, $secret);
    // while the secret is rotated, the second header is signed with the previous one
    return hash_equals($expected, $headers['x-signature'] ?? '')
        || hash_equals($expected, $headers['x-signature-previous'] ?? '');
}
