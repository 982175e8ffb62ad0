// Uses the client of openapi-generator for Go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	identity "github.com/GIT_USER_ID/GIT_REPO_ID"
)

func must[T any](value T, _ any, err error) T {
	if err != nil {
		var failed *identity.GenericOpenAPIError
		if errors.As(err, &failed) {
			panic(string(failed.Body()))
		}
		panic(err)
	}
	return value
}

func check(holds bool, message string) {
	if !holds {
		panic(message)
	}
}

func main() {
	url, login, password, suffix := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	configuration := identity.NewConfiguration()
	configuration.Servers = identity.ServerConfigurations{{URL: url}}
	client := identity.NewAPIClient(configuration)
	credentials := *identity.NewLoginRequest(login, password)
	session := must(client.AuthenticationAPI.Login(context.Background()).LoginRequest(credentials).Execute())
	ctx := context.WithValue(context.Background(), identity.ContextAccessToken, session.AccessToken)

	wanted := *identity.NewCreateUserRequest(identity.USERTYPE_CARRIER, "go1-"+suffix, "go1-"+suffix+"@example.com")
	wanted.SetCarrierId("go")
	wanted.SetPhone("+4312345678")
	wanted.SetRoles([]string{"carrier_user"})
	wanted.SetAllowedIps([]string{"203.0.113.0/24"})
	wanted.SetAttributes(map[string]any{"tier": "gold"})
	created := must(client.UsersAPI.CreateUser(ctx).CreateUserRequest(wanted).Execute())
	wanted.SetName("go2-" + suffix)
	wanted.SetEmail("go2-" + suffix + "@example.com")
	must(client.UsersAPI.CreateUser(ctx).CreateUserRequest(wanted).Execute())

	found := 0
	for cursor := ""; ; {
		request := client.UsersAPI.ListUsers(ctx).CarrierIdIn([]string{"go", "other"}).PerPage(1).OrderBy(identity.USERSORT_NAME)
		if cursor != "" {
			request = request.Cursor(cursor)
		}
		page := must(request.Execute())
		found += len(page.Items)
		if cursor = page.GetNextCursor(); cursor == "" {
			break
		}
	}
	check(found == 2, fmt.Sprint("listed ", found))

	change := *identity.NewChangeUserRequest()
	change.SetLocale("en")
	changed := must(client.UsersAPI.ChangeUser(ctx, created.UserId).ChangeUserRequest(change).Execute())
	check(changed.GetLocale() == "en", "the locale did not change")
	check(len(changed.Roles) == 1 && reflect.DeepEqual(changed.Roles, created.Roles), "the roles changed")
	check(len(changed.AllowedIps) == 1 && reflect.DeepEqual(changed.AllowedIps, created.AllowedIps), "the addresses changed")
	check(reflect.DeepEqual(changed.Attributes, created.Attributes), "the attributes changed")
	check(changed.GetPhone() == created.GetPhone(), "the phone changed")

	bulk := *identity.NewChangeFoundUsersRequest()
	bulk.SetTimezone("Europe/Vienna")
	request := client.BulkChangesAPI.ChangeUsers(ctx).ChangeFoundUsersRequest(bulk).CarrierId("go")
	preview := must(request.DryRun(true).Execute()).BulkPreviewResponse
	result := must(request.ConfirmToken(preview.ConfirmToken).Execute()).BulkResultResponse
	check(result.Changed == 2, fmt.Sprint("bulk: changed ", result.Changed))

	other := must(client.AuthenticationAPI.Login(ctx).LoginRequest(credentials).Execute()).SessionId
	if _, err := client.SessionsAPI.EndSession(ctx, other).Execute(); err != nil {
		panic(err)
	}
	ended := must(client.SessionsAPI.ListSessions(ctx).SessionId(other).Execute()).Items[0]
	check(ended.GetEndedReason() == identity.SESSIONENDREASON_REVOKED, "the session was not revoked")

	overview := must(client.StatisticsAPI.GetOverview(ctx).Execute())
	check(len(overview.Logins) == 24 && len(overview.Users) > 0, "the overview is incomplete")
	link := must(client.ImportAndExportAPI.CreateExportLink(ctx).CarrierId("go").Execute())
	file, err := http.Get(link.Url)
	if err != nil {
		panic(err)
	}
	exported, err := io.ReadAll(file.Body)
	check(err == nil && strings.Contains(string(exported), created.Email), "the export is incomplete")

	_, _, err = client.UsersAPI.CreateUser(ctx).CreateUserRequest(wanted).Execute()
	var failed *identity.GenericOpenAPIError
	check(errors.As(err, &failed), "created twice")
	problem := failed.Model().(identity.CreateUserConflictProblem)
	check(strings.HasSuffix(problem.Code, "_taken"), "the code is "+problem.Code)
	secondFactor(client, password, suffix, os.Args[5], os.Args[6], os.Args[7], os.Args[8])
	fmt.Println("ok")
}

// Logs in with a second factor, and authenticates again in a session that is too old for a new role.
func secondFactor(client *identity.APIClient, password, suffix, login, loginCode, freshCode, oldToken string) {
	background := context.Background()
	credentials := *identity.NewLoginRequest(login, password)
	_, _, err := client.AuthenticationAPI.Login(background).LoginRequest(credentials).Execute()
	var failed *identity.GenericOpenAPIError
	check(errors.As(err, &failed), "logged in with one factor")
	problem := failed.Model().(identity.LoginUnauthorizedProblem)
	check(problem.Code == "auth.second_factor_required", "the code is "+problem.Code)
	check(problem.GetExpiresIn() > 0 && slices.Contains(problem.GetFactors(), identity.FACTORMETHOD_RECOVERY_CODE), "no recovery code")
	step := *identity.NewSecondFactorRequest(problem.GetChallenge())
	step.SetRecoveryCode(loginCode)
	must(client.SecondFactorsAPI.CompleteLogin(background).SecondFactorRequest(step).Execute())

	old := context.WithValue(background, identity.ContextAccessToken, oldToken)
	role := *identity.NewCreateRoleRequest("go-"+suffix, []identity.UserType{identity.USERTYPE_SYSTEM})
	_, response, err := client.RolesAPI.CreateRole(old).CreateRoleRequest(role).Execute()
	check(errors.As(err, &failed), "created a role in an old session")
	stale := failed.Model().(identity.AuthReauthenticationRequiredProblem)
	check(stale.Code == "auth.reauthentication_required", "the code is "+stale.Code)
	challenge := response.Header.Get("WWW-Authenticate")
	check(strings.Contains(challenge, `max_age="300"`), "the challenge is "+challenge)
	again := *identity.NewReauthenticateRequest()
	again.SetRecoveryCode(freshCode)
	renewed := must(client.AuthenticationAPI.Reauthenticate(old).ReauthenticateRequest(again).Execute())
	fresh := context.WithValue(background, identity.ContextAccessToken, renewed.AccessToken)
	must(client.RolesAPI.CreateRole(fresh).CreateRoleRequest(role).Execute())
}
