/**
 * `offhook login`, `logout` and `profile`: URL and API key of a controller,
 * kept in a file under a name.
 */
#ifndef OFFHOOK_CONTROL_CLI_CLIENT_LOGIN_H
#define OFFHOOK_CONTROL_CLI_CLIENT_LOGIN_H

struct client;

/** Verify a URL and key with the controller and keep them. @return exit status */
int login_main(struct client *c, int argc, char **argv);
/** Remove a profile. @return exit status */
int login_logout(struct client *c, int argc, char **argv);
int login_profile_list(struct client *c, int argc, char **argv);
int login_profile_use(struct client *c, int argc, char **argv);

#endif
